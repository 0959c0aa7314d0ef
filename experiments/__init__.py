"""What takes longer than a lab: the long table, the course's own language model, the benchmark."""

import ends as ends
