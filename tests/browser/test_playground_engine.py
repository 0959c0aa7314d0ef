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


STEPS = """([config, seed]) => {
  const model = engine.makeModel(config, seed), chance = engine.random(seed + 1), numbers = (part) =>
    model.list.map(({ name, rows, columns, [part]: found }) => ({ name, rows, columns, numbers: Array.from(found) }));
  for (const { value } of model.list) for (let n = 0; n < value.length; n++) value[n] += 0.3 * chance.normal();
  const cafes = engine.drawCafes(4, chance), start = numbers("value"), losses = [];
  for (let step = 0; step < 3; step++) {
    losses.push(engine.lossAndGradients(model, cafes));
    engine.adamStep(model);
  }
  return { start, losses, gradient: numbers("gradient"), end: numbers("value"),
    cafes: ["names", "friends", "drinks"].map((name) => Array.from(cafes[name])) };
}"""


def in_the_shape_of(part: dict, like: torch.Tensor) -> torch.Tensor:
    matrix = torch.tensor(part["numbers"], dtype=torch.float64).reshape(part["rows"], part["columns"])
    is_linear = like.ndim == 2 and "." in part["name"] and part["name"].split(".")[0] not in ("name", "friend", "drink")
    return (matrix.T if is_linear else matrix).reshape(like.shape)  # nn.Linear stores (out, in)


def test_gradients_and_three_steps_of_adam_are_those_of_pytorch_whatever_the_switches(engine):
    """Sixty layers drawn at random: nearly every pair of settings occurs."""
    draw, switches = random.Random(0), engine.evaluate("playgroundState.SWITCHES")
    for seed in range(60):
        config = {name: draw.choice(values) for name, values in switches.items()}
        got = engine.evaluate(STEPS, [config, seed])
        names, training = layer_of(engine, config)
        questions = eval(training.partition("layer, ")[2].partition("**")[0], names)
        model = cafe.CafeModel(names["layer"], 16, None, len(questions)).double()
        parameters = dict(model.named_parameters())
        # The same parameters in the same order.
        assert [name.split(".")[-1] for name in parameters] == [part["name"].split(".")[-1] for part in got["start"]]
        with torch.no_grad():
            for part, parameter in zip(got["start"], parameters.values(), strict=True):
                parameter.copy_(in_the_shape_of(part, parameter))
        cafes = cafe.Cafes(*(torch.tensor(numbers).reshape(-1, 8) for numbers in got["cafes"]))
        targets, optimizer = cafe.right_answers(cafes, questions), torch.optim.Adam(parameters.values(), lr=0.01)
        for found in got["losses"]:
            optimizer.zero_grad()
            loss = cross_entropy(model(cafes).flatten(0, 2), targets.flatten())
            loss.backward()
            optimizer.step()
            assert found == pytest.approx(loss.item(), abs=1e-5)
        close = {"atol": 1e-5, "rtol": 0, "msg": lambda text, config=config: f"{config}: {text}"}
        for gradient, end, parameter in zip(got["gradient"], got["end"], parameters.values(), strict=True):
            torch.testing.assert_close(in_the_shape_of(gradient, parameter), parameter.grad, **close)
            torch.testing.assert_close(in_the_shape_of(end, parameter), parameter.detach(), **close)


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


def test_the_plane_has_the_key_of_each_name_and_the_query_of_each_friend(engine):
    """The rest of x is at its mean: by loops over names, friends and drinks."""
    run = """([config, seed]) => { const all = { ...playgroundState.PLAIN, ...config };
      const { list } = engine.makeModel(all, seed), { plane } = engine.makeRun({ config: all, seed, cafe: 1 }).report();
      return [list.map((part) => ({ ...part, value: Array.from(part.value) })), plane]; }"""
    for scores in ("qk", "tied"):
        parts, plane = engine.evaluate(run, [{"scores": scores, "width": 2}, 3])
        of = {each["name"]: torch.tensor(each["value"]).view(each["rows"], each["columns"]) for each in parts}
        keys, queries = torch.zeros(8, 2), torch.zeros(8, 2)
        for name in range(8):
            for friend in range(8):
                x = of["name.weight"][name] + of["friend.weight"][friend] + of["drink.weight"].mean(dim=0)
                keys[name] += x @ of["0.W_key.weight"] / 8
                queries[friend] += x @ of["0.W_key.weight" if scores == "tied" else "0.W_query.weight"] / 8
        torch.testing.assert_close(torch.tensor(plane["keys"]).view(8, 2), keys, atol=1e-5, rtol=0)
        torch.testing.assert_close(torch.tensor(plane["queries"]).view(8, 2), queries, atol=1e-5, rtol=0)
