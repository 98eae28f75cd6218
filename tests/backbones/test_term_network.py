"""Members of all ready spaces: they build, compute, learn and stay what they are in a file."""

import random

import pytest
import torch

from sciops.backbones import FnoCnn, Normalized, build_model, term_network
from sciops.backbones.classifiers import Standardized
from sciops.backbones.term_network import MAX_HEADS
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.ready import NAMES, ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import Term
from sciops.task import Axis, Field, Task
from tests.backbones.test_backbones import make_task
from tests.contracts import random_tensor

SMALL = {"activations": {"depth": 8}}
SIZES = {1: 16, 2: 8, 3: 12}
MEMBERS = {"nasbench201-hierarchical": 1, "nasbench201-cell": 1}


def members(name: str, n_axes: int, n: int, seed: int = 0) -> list[Term]:
    space = ready_space(name, n_axes)
    sampler, rng = Sampler(space.grammar, connected=space.connected), random.Random(seed)
    return [sampler.draw(rng) for _ in range(n)]


def class_task(n_axes: int) -> Task:
    points = tuple(float(i) for i in range(SIZES[n_axes]))
    axes = tuple(Axis(name, points, False, float(len(points))) for name in "xyz"[:n_axes])
    return Task("classes", (Field("a"), Field("b")), (Field("c"),), axes, ("one", "two", "three"))


def built(task: Task, term: Term | str, space: str) -> Normalized | Standardized:
    torch.manual_seed(0)
    own = ready_space(space, len(task.axes))
    model = term_network(task, term, frame=own.frame, **SMALL.get(space, {}))
    x = random_tensor(4, 2, *[axis.size for axis in task.axes], seed=1)
    return model.fit(x) if task.classes else model.fit(x, random_tensor(4, 3, *x.shape[2:], seed=2))


SPACES = [
    *(
        (name, n_axes)
        for name in NAMES
        for n_axes in (1, 2)
        if (name, n_axes) != ("activations", 1)
    ),
    ("fields", 3),
    ("nasbench201-cell", 3),
]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("name", "n_axes"), SPACES)
def test_members_compute_and_learn(name, n_axes, dense):
    task = make_task(n_axes, SIZES[n_axes], closed=n_axes == 2) if dense else class_task(n_axes)
    size = [SIZES[n_axes]] * n_axes
    for term in members(name, n_axes, MEMBERS.get(name, 4)):
        model = built(task, term, name)
        y = model(random_tensor(2, 2, *size))
        assert y.shape == ((2, 3, *size) if dense else (2, 3)) and y.isfinite().all()
        y.square().sum().backward()
        unused = [n for n, p in model.named_parameters() if p.grad is None]
        assert unused == [] or name == "activations"  # a constant function uses no convolution


def test_fno_is_a_term():
    """The network of FNO, layer by layer, and the term with its weights: the same numbers."""
    task = make_task(2, 16, closed=True)
    torch.manual_seed(0)
    fno = FnoCnn(task, "fno", width=8, hidden=64, frequencies=4)
    blocks = [f"Block(fourier4, pointwise, id, {act})" for act in ("gelu", "gelu", "gelu", "id")]
    term = f"Linear2(lift8, Linear4({', '.join(blocks)}))"
    network = term_network(task, term).model
    weights = list(fno.parameters())
    assert [p.shape for p in network.parameters()] == [p.shape for p in weights]
    with torch.no_grad():
        for mine, theirs in zip(network.parameters(), weights, strict=True):
            mine.copy_(theirs)
    x = random_tensor(2, 2, 16, 16)
    points = tuple(torch.linspace(0, 0.9, 16, dtype=torch.float64) for _ in range(2))
    for coords in (None, points):
        torch.testing.assert_close(network(x, coords), fno(x, coords))


def test_answers_have_the_grid_of_the_input():
    task = make_task(2, 16, closed=True)
    model = built(task, "Linear3(lift4, down, fourier4)", "fields")
    assert model.model.factor == 2
    for size in ((16, 16), (17, 12)):
        assert model(random_tensor(1, 2, *size)).shape == (1, 3, *size)


def test_global_operators_mean_the_same_on_other_grids():
    """A smooth function on 16 and on 31 points of a closed axis: every second value is the same."""
    task = make_task(1, 16, closed=True)
    model = built(
        task, "Linear3(lift4, Block(fourier4, pointwise, id, gelu), xd4)", "fields"
    ).double()
    fine = torch.linspace(0, 1, 61, dtype=torch.float64)
    wave = torch.stack([(3 * fine).sin(), (2 * fine).cos()])[None]
    finest, coarse = model(wave), model(wave[..., ::2])
    torch.testing.assert_close(finest[..., ::2], coarse, rtol=0.02, atol=0.02)


def test_descriptions_and_files():
    task = make_task(2, 8, closed=True)
    term = str(members("fields", 2, 1)[0])
    torch.manual_seed(0)
    one, two = (
        build_model(task, {"op": "term", "backbone": "term", "term": term, "frame": "fields"})
        for _ in range(2)
    )
    x = random_tensor(4, 2, 8, 8)
    one.fit(x, random_tensor(4, 3, 8, 8))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one.eval()(x), two.eval()(x))


def test_own_topologies():
    grammar = parse_grammar("Fork = 1-2 1-2 1-2\nNET -> Linear2(lift4, Fork(conv3, id, relu))")
    term = Sampler(grammar).draw(random.Random(0))
    for topologies in (grammar.topologies, {"Fork": [[1, 2], [1, 2], [1, 2]]}):  # or from JSON
        model = term_network(make_task(2, 8), term, topologies=topologies)
        assert model.model.body.parts[1].edges == [(1, 2)] * 3


@pytest.mark.parametrize(
    "term",
    [
        "Linear2(lift4, Linear8(" + ", ".join(["relu"] * MAX_HEADS) + "))",
        f"Linear2(lift4, Shared(Linear8({', '.join(['motif'] * 99)}), "
        f"Linear8({', '.join(['relu'] * 50)})))",
    ],
    ids=["long", "motif"],
)
def test_terms_of_too_many_heads(term):
    with pytest.raises(ValueError, match=r"of a term of \d+ heads; 2048 are allowed: make it smal"):
        term_network(make_task(2, 8), term)


def test_published_network():
    """The channels and grids of NAS-Bench-201: two stages, each twice the channels."""
    task = class_task(2)
    model = built(task, members("nasbench201-cell", 2, 1)[0], "nasbench201-cell").model
    assert model.stem[0].weight.shape == (16, 2, 3, 3)
    assert model.head.linear.weight.shape == (3, 64)


def test_activations_stand_in_all_places():
    model = built(class_task(2), "Unary(Unary(scaled))", "activations")
    betas = [name for name, _ in model.named_parameters() if name.endswith("beta")]
    assert len(betas) == 7  # ResNet-8: one, and two in each of three blocks


def test_wrong_frames_and_options():
    task = make_task(2, 8)
    with pytest.raises(ValueError, match="no frame 'pictures'; there are fields, images"):
        term_network(task, "lift4", frame="pictures")
    with pytest.raises(ValueError, match=r"does not take these options: .*depth"):
        term_network(task, "lift4", depth=3)
