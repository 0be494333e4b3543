"""What ``windage init`` writes."""

import json
import shlex

TEMPLATE = """# A windage study. Change what stands here, then:
#   windage ask {file}                                             what to do next, with its number
#   windage tell {file} 0 --value 12.5 --context demand=8          what happened
#   windage recommend {file}                                       what is best, as far as is known

direction = "maximize"      # or "minimize": is a larger value better, or a smaller one?
aim = "earn"                # every decision counts; "learn": only the recommendation at the end does
method = "auto"             # the best on average; see "windage methods" for others
storage = {storage}   # a file beside this one. For many machines: "postgresql+psycopg://user@host/database"
lease_days = 7              # a decision asked for and not told counts as under way for so long

[value]
unit = "EUR"
description = "profit of the day"

# What you decide. A number needs low and high. Others: integer = true, step = 0.5, log = true,
# or choices = ["red", "blue"] in place of numbers.
[decisions.stock]
low = 0
high = 40
unit = "kg"
description = "what is bought in the morning"

# What you meet, and see only afterwards. Leave out low or high where there is no bound. Others as above, and
# known = true for what is known before the decision, such as the weekday: windage ask --known weekday=sat
[contexts.demand]
low = 0
unit = "kg"
description = "what customers want"
"""


def filled(name: str, stem: str) -> str:
    """The template for a file of this name: in commands as a shell wants it, in TOML as TOML does."""
    storage = json.dumps(f"sqlite:///{stem}.db", ensure_ascii=False).replace("\x7f", "\\u007f")
    return TEMPLATE.format(file=shlex.quote(" ".join(name.splitlines())), storage=storage)
