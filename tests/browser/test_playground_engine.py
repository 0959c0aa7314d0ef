"""The engine of the attention playground against PyTorch, by the Python that the page shows: gradients, Adam, a run."""

import contextlib
import io
import random

import pytest
import torch
from site_in_browser import visits
from torch.nn.functional import cross_entropy

from shared import cafe


@pytest.fixture(scope="module")
def engine(browser, address):
    """The page, with a second engine for the tests."""
    with visits(browser) as visit:
        page = visit(f"{address}/book/playground.html")
        page.evaluate("globalThis.engine = attentionEngine()")
        yield page
        assert page.faults == []


def layer_of(engine, config: dict, seed: int = 1) -> tuple[dict, str]:
    """The names that the page's Python defines, run up to the training; and the rest of it."""
    text = engine.evaluate(
        "([config, seed]) => playgroundState.asPython({ ...playgroundState.PLAIN, ...config }, engine, seed)",
        [config, seed],
    )
    built, training = text.split("model = ")
    names = {}
    exec(built, names)
    return names, "model = " + training


COMPUTE = """([config, seed]) => {
  const model = engine.makeModel(config, seed), chance = engine.random(seed + 1);
  for (const { value } of model.list) for (let n = 0; n < value.length; n++) value[n] += 0.3 * chance.normal();
  const cafes = engine.drawCafes(4, chance), loss = engine.lossAndGradients(model, cafes);
  const logits = engine.forward(model, cafes).logits.value;
  return { loss, logits: Array.from(logits), list: model.list.map(({ name, rows, columns, value, gradient }) =>
    ({ name, rows, columns, value: Array.from(value), gradient: Array.from(gradient) })),
    ...Object.fromEntries(["names", "friends", "drinks"].map((name) => [name, Array.from(cafes[name])])) };
}"""


def in_the_shape_of(numbers: list[float], part: dict, like: torch.Tensor) -> torch.Tensor:
    matrix = torch.tensor(numbers, dtype=torch.float64).reshape(part["rows"], part["columns"])
    is_linear = like.ndim == 2 and "." in part["name"] and part["name"].split(".")[0] not in ("name", "friend", "drink")
    return (matrix.T if is_linear else matrix).reshape(like.shape)  # nn.Linear stores (out, in)


def test_logits_and_gradients_are_those_of_pytorch_whatever_the_switches(engine):
    """Sixty layers drawn at random: nearly every pair of settings occurs."""
    draw, switches = random.Random(0), engine.evaluate("playgroundState.SWITCHES")
    for seed in range(60):
        config = {name: draw.choice(values) for name, values in switches.items()}
        got = engine.evaluate(COMPUTE, [config, seed])
        names, training = layer_of(engine, config)
        questions = eval(training.partition("layer, ")[2].partition("**")[0], names)
        model = cafe.CafeModel(names["layer"], 16, None, len(questions)).double()
        parameters = list(model.named_parameters())
        # The same parameters in the same order.
        ends = [[name.replace("layer.", "").split(".")[-1] for name, _ in parameters]]
        assert ends == [[part["name"].split(".")[-1] for part in got["list"]]]
        with torch.no_grad():
            for part, (_, parameter) in zip(got["list"], parameters, strict=True):
                parameter.copy_(in_the_shape_of(part["value"], part, parameter))
        cafes = cafe.Cafes(*(torch.tensor(got[name]).reshape(-1, 8) for name in ("names", "friends", "drinks")))
        logits = model(cafes)
        targets = cafe.right_answers(cafes, questions)
        loss = cross_entropy(logits.flatten(0, 2), targets.flatten())
        loss.backward()
        close = {"atol": 1e-5, "rtol": 0, "msg": lambda text, config=config: f"{config}: {text}"}
        torch.testing.assert_close(torch.tensor(got["logits"], dtype=torch.float64), logits.flatten(), **close)
        assert got["loss"] == pytest.approx(loss.item(), abs=1e-5)
        for part, (_, parameter) in zip(got["list"], parameters, strict=True):
            gradient = in_the_shape_of(part["gradient"], part, parameter)
            torch.testing.assert_close(
                gradient, torch.zeros_like(parameter) if parameter.grad is None else parameter.grad, **close
            )


def test_adam_steps_are_those_of_pytorch(engine):
    steps = """() => { const model = engine.makeModel(playgroundState.PLAIN, 1), [first] = model.list, found = [];
      for (let step = 1; step < 5; step++) {
        for (const { gradient } of model.list) gradient.forEach((_, n) => { gradient[n] = Math.sin(n * step) ** 3; });
        engine.adamStep(model);
        found.push(Array.from(first.value));
      }
      return found; }"""
    start = engine.evaluate("Array.from(engine.makeModel(playgroundState.PLAIN, 1).list[0].value)")
    value = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([value], lr=0.01)
    for step, found in enumerate(engine.evaluate(steps), 1):
        value.grad = (torch.arange(len(start), dtype=torch.float64) * step).sin() ** 3
        optimizer.step()
        torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), value.detach(), atol=1e-9, rtol=0)


def page_accuracies(engine, config: dict, seeds: range) -> list[float]:
    train = """([config, seeds]) => seeds.map((seed) =>
      engine.makeRun({ config: { ...playgroundState.PLAIN, ...config }, seed, cafe: 1 }).train(1000).accuracy)"""
    return engine.evaluate(train, [config, list(seeds)])


def pytorch_accuracies(engine, config: dict, seeds: range) -> list[float]:
    """What the Python that the page shows prints, for each seed."""
    found = []
    for seed in seeds:
        names, training = layer_of(engine, config, seed)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(training, names)
        found.append(float(printed.getvalue()))
    return found


def test_a_run_on_the_page_ends_where_pytorch_s_does(engine):
    """Two layers that differ in one part; tests/slow compares every switch, with five seeds."""
    for config in ({"residual": 1}, {"residual": 1, "values": 1}):
        page, pytorch = (found(engine, config, range(1, 2))[0] for found in (page_accuracies, pytorch_accuracies))
        assert page == pytest.approx(pytorch, abs=0.03)


def test_the_python_of_every_challenge_and_every_guess_runs(engine):
    configs = """playgroundState.CHALLENGES.flatMap(({ start, guesses }) =>
      [start, ...guesses.map(({ part }) => ({ ...start, ...part }))])"""
    for config in engine.evaluate(configs):
        names, training = layer_of(engine, config)
        assert names["recipe"]["steps"] >= 300
        names["recipe"]["steps"] = 1
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(training, names)
        assert 0 <= float(printed.getvalue()) <= 1
