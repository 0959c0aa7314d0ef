"""A course of one lab with two exercises or three, for tests of editions and grading; its checks are its own."""

import shutil
from pathlib import Path

import identity

ROOT = Path(__file__).resolve().parents[1]
LAB = """# Small

A lab as short as can be. Symbols stand under [Notation](../book/notation.md).

**What you will be able to do**

- Double a tensor.

```{code-cell} ipython3
import torch
from torch import nn

import checks
```

## A long training

```{code-cell} ipython3
class Course:
    factor = 2

trained = torch.ones(2) * Course.factor
print(trained)
```

Which number did it learn?

<details>
<summary>Think, then open</summary>

Two, the kept answer.

</details>

## Exercises

### Exercise 11.1: twice

Write `double(x)`, which takes a tensor of any shape and returns twice the tensor, of the same shape.

```{code-cell} ipython3
---
exercise: double
---
def double(x):
    raise NotImplementedError  # your turn
```

```{code-cell} ipython3
checks.double(double)
```

<details><summary>Hint</summary>

What is one plus one?

</details>

<details><summary>Solution</summary>

```python
def double(x):
    return x + x  # the secret
```

A sum with itself doubles.

</details>

### Exercise 11.2: a linear map

Complete `Map`: `forward(x)` takes (batch, d_in) and gives (batch, d_out), through an `nn.Linear` named `project`.

```{code-cell} ipython3
---
exercise: linear_map
---
class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        raise NotImplementedError  # your turn
```

```{code-cell} ipython3
checks.linear_map(Map)
```

<details><summary>Hint</summary>

One line makes it, another one calls it.

</details>

<details><summary>Solution</summary>

```python
class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.project(x)
```

`nn.Linear` is the secret.

</details>

## What you can now say

- Two is more than one.

## Questions

**1.** Is it?

<details>
<summary>Answer</summary>

Yes, says the secret.

</details>

## Where to go next

Home.
"""
BUILD = """## A layer

### Exercise 11.1 (build): a layer that doubles

Write `Twice(dim)`; `forward(x)` takes (batch, dim) through an `nn.Linear` named `project`, and gives twice that.

```{code-cell} ipython3
---
exercise: twice
---
class Twice(nn.Module):
    \"""A linear map, doubled: (batch, dim) to (batch, dim).\"""

    def __init__(self, dim):
        super().__init__()
        # the open secret
        self.project = nn.Linear(dim, dim)

    def forward(self, x):  # (batch, dim)
        return 2 * self.project(x)
```

```{code-cell} ipython3
Twice = checks.twice.use(Twice)
```

<details><summary>Hint</summary>

Two times one.

</details>

<details><summary>Solution</summary>

A map doubled is a map; that is the why of it.

</details>

The layer at work:

```{code-cell} ipython3
print(Twice(3)(torch.ones(2, 3)).shape)
```

"""
CHECKS = '''"""The checks of the small lab."""

from torch import nn

from checks.engine import Case, Check
from checks.trials import draw


def squared(x):
    """You squared x."""
    return x * x


double = Check(
    reference=lambda x: 2 * x,
    cases=[Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
    mistakes=[squared],
    section="Small, “A long training”",
)


class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.project(x)


linear_map = Check(
    reference=lambda x, project: project(x),
    solution=Map,
    parts=("project",),
    cases=[Case({"x": draw(4, 3)}, {"d_in": 3, "d_out": 5})],
    mistakes=[],
    section="Small, “A long training”",
)


class Twice(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, dim)

    def forward(self, x):
        return 2 * self.project(x)


def not_doubled(x, project):
    """You did not double it."""
    return project(x)


twice = Check(
    reference=lambda x, project: project(x) + project(x),
    solution=Twice,
    parts=("project",),
    cases=[Case({"x": draw(4, 3)}, {"dim": 3})],
    mistakes=[not_doubled],
    section="Small, “A layer”",
)
'''


def make(root: Path, build: bool = False) -> Path:
    """Write the course below `root` and return its one lab."""
    (root / "labs").mkdir(parents=True)
    for name in ("_config.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    for package in ("shared", "checks"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in identity.outdated(root).items():
        file.write_text(text, "utf-8")
    lab = root / "labs/11_small.md"
    lab.write_text(LAB)
    if build:
        change(lab, "## Exercises\n", BUILD + "## Exercises\n")
        change(lab, "### Exercise 11.2: a", "### Exercise 11.3 (experiment): a")
        change(lab, "### Exercise 11.1: twice", "### Exercise 11.2 (debug): twice")
    with open(root / "checks/__init__.py", "a") as file:
        file.write("\nfrom checks.small import double, linear_map, twice\n")
    (root / "checks/small.py").write_text(CHECKS)
    return lab


def make_to_build(root: Path) -> Path:
    """Write the course with a lesson's own class as its first exercise, and return its one lab."""
    return make(root, build=True)


def change(path: Path, old: str, new: str) -> None:
    """Put one text in the place of another, once; the old one must be there."""
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), "utf-8")
