"""What `make` runs: labs and their editions, the site, and checks of both.

`python -m tools.labs keys` runs one.
"""

import ends as ends
