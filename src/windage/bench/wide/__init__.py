"""The wide suite: many families of problems, split into development and validation, to judge a default.

``windage bench wide`` runs it. A method is chosen on the families of development; those of validation are run
to report, and for nothing else.
"""
