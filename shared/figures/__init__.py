"""Pictures of attention: arrays and words in, one picture out.

Pictures of matrices are HTML that follows the page's theme. Cafés and charts are values
that show themselves: SVG in the letters and colors of the page; PNG, and words, in a notebook that
nobody has run yet.
"""

from shared.colours import ROLES as ROLES

from .cafe import Cafe as Cafe
from .cafe import Cafes as Cafes
from .chart import STYLE as STYLE
from .chart import Plot as Plot
from .charts import Arcs as Arcs
from .charts import Bars as Bars
from .charts import Curves as Curves
from .charts import Dots as Dots
from .charts import HeatMap as HeatMap
from .charts import Tiles as Tiles
from .matrices import Matrix as Matrix
from .matrices import product as product
from .matrices import side_by_side as side_by_side
from .matrices import softmax_row as softmax_row
from .matrices import split_heads as split_heads
from .matrices import weighted_sum as weighted_sum
from .picture import Picture as Picture
from .walk import walk as walk
