"""Pictures of attention: arrays and words in, one picture out.

Matrix pictures and shaded words are HTML that follows the page's theme. Cafés and charts are values
that show themselves: SVG in the letters and colours of the page; PNG, and words, in a notebook that
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
from .drawings import block_schematic as block_schematic
from .drawings import layer_schematic as layer_schematic
from .drawings import shift_and_causal_mask as shift_and_causal_mask
from .drawings import split_and_concatenate as split_and_concatenate
from .matrices import Matrix as Matrix
from .matrices import attention_over as attention_over
from .matrices import lookup as lookup
from .matrices import product as product
from .matrices import side_by_side as side_by_side
from .matrices import softmax_row as softmax_row
from .matrices import split_heads as split_heads
from .matrices import weighted_sum as weighted_sum
from .picture import Picture as Picture
from .plots import heat_map as heat_map
from .plots import intervals as intervals
from .plots import key_plane as key_plane
from .walk import walk as walk
from .words import shaded_words as shaded_words
