"""The default, in six steps.

1. The first four decisions are points of a scrambled Sobol sequence.
2. Fit GPs on (x, c) with four kernels (RBF, Matérn-5/2, Matérn-3/2, rational quadratic) to all observations,
   and draw eight from the posterior of kernels and hyper-parameters.
3. Estimate the density of the context by a KDE, as weighted cells.
4. The expectation F(x) under it is Gaussian under each GP, with mean μ_F and deviation σ_F (Williams, Santner
   & Notz 2000; Toscano-Palmerin & Frazier 2018).
5. Decide x that maximises μ_F + √β σ_F, averaged over the GPs, with √β = Dx/3 between 1/3 and 5/3.
6. Recommend x that maximises μ_F, averaged over the GPs.

Steps 2 to 5 are BQ-KDE with another √β.
"""

from dataclasses import replace

from windage.methods import bq_kde
from windage.methods.schedules import auto_sqrt_beta

INITIAL = 4
"""First decisions learn nothing from outcomes. The first four points of a scrambled Sobol sequence lie one in
each quarter of every range; three would leave a quarter unseen."""

METHOD = replace(bq_kde.METHOD, name="auto", sqrt_beta=auto_sqrt_beta, initial=INITIAL)
