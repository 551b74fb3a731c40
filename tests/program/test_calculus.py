"""Gradients, influence, shapes and ranges of bound expressions."""

import numpy as np
import pytest

from goals.samples import (
    BINARY,
    FIVE,
    Schema,
    constant,
    decisions,
    grouped,
    influence,
    metric,
    program_of,
    tensor_of,
)
from setpoint import Goal, maximize
from setpoint.goals import TABLE
from setpoint.program import Affine, range_of
from thinning import over

METRICS = [metric(name, FIVE) for name in TABLE]
OTHERS = [
    'prior_divergence({"a": 0.2, "b": 0.2, "c": 0.2, "d": 0.2, "e": 0.2})',
    'recall.difference("sex").max()', 'recall(label="a").ratio("sex")',
    "predicted_rate.deviation(sex).max()", 'precision(label="a").difference("sex")',
    'f1(label="a").mean("sex", "country")', "recall.quadratic_mean()",
    "recall.geometric_mean(sex).min()", "abs(predicted_rate - prior).max()",
    'log(recall(label="b")) + sqrt(precision(label="a"))',
    'sqrt(recall(label="a") * recall(label="b"))', 'recall(label="a") / precision(label="b")',
    '1 / precision(label="b")', '(accuracy - 0.5) / (predicted_rate(label="a") + 0.1)',
    "maximum(g_mean, macro_f1) - minimum(accuracy, h_mean)",
    "accuracy.on(country=IN) * (1 - churn)",
    'recall(label="a") - recall(label="a").baseline()', "recall.baseline().min()",
    'precision(label="a") + f1(label="a") + 3 * precision(label="a")',
    '0.5 - jaccard(label="c")', "win_loss_ratio.mean(sex)", 'abs(precision(label="a") - 0.5)',
    'log(prior(label="a") / predicted_rate(label="a"))',
]  # fmt: skip
ALL = METRICS + OTHERS


@pytest.fixture(scope="module")
def data():
    return grouped(FIVE, 1, baseline=True)


def objective(text):
    return Goal.parse(f"maximize {text}").objective


@over("text", ALL)
def test_gradient(text, data):
    schema, _ = data
    program = program_of(maximize(objective(text)), schema)
    rng = np.random.default_rng(0)
    for _ in range(3):
        v = program.rates_of(decisions(schema, rng, sparse=0.0))
        got, step = program.gradient(v), 1e-6
        want = np.array(
            [
                (program.value(v + step * e) - program.value(v - step * e)) / (2 * step)
                for e in np.eye(len(v))
            ]
        )
        scale = max(1.0, np.abs(want).max(initial=0.0))
        np.testing.assert_allclose(got, want.reshape(got.shape), atol=2e-6 * scale)


@over("text", ALL)
@over("k", range(2))
def test_slopes_are_finite_where_one_class_takes_all(text, k, data):
    schema, _ = data
    counts = constant(schema, k)
    program = program_of(maximize(objective(text)), schema)
    gradient = program.gradient(program.rates_of(counts))
    assert np.isfinite(gradient).all()
    assert np.isfinite(influence(objective(text), schema, counts)[1]).all()
    if text in ("g_mean", "h_mean", "macro_f1"):
        # A clamp would stick here: some direction must lead up.
        assert gradient.max() > 0


@over("text", ALL)
def test_influence(text, data):
    schema, _ = data
    e = objective(text)
    rng = np.random.default_rng(1)
    counts = decisions(schema, rng, sparse=0.0) + 0.5
    counts[:, -1] = 0

    def at(c):
        return influence(e, Schema.of_counts(schema.classes, schema.strata, c), c)

    value, slope = at(counts)
    assert abs((slope * counts).sum()) <= 1e-9
    program = program_of(maximize(e), Schema.of_counts(schema.classes, schema.strata, counts))
    assert float(program.value(program.rates_of(counts))) == pytest.approx(value, abs=1e-12)
    for _ in range(3):
        i = tuple(rng.integers(s) for s in (len(counts), 5, 5))
        step = np.zeros_like(counts)
        step[i] = 1e-4
        want = (at(counts + step)[0] - at(counts - step)[0]) / 2e-4
        assert slope[i] == pytest.approx(want, abs=1e-7 * max(1, abs(want)))


@over("text", ALL)
def test_torch(text, data):
    torch = pytest.importorskip("torch", reason="torch is not installed (the extra 'torch')")
    schema, _ = data
    program = program_of(maximize(objective(text)), schema)
    rng = np.random.default_rng(2)
    points = [decisions(schema, rng) for _ in range(2)] + [constant(schema, k) for k in range(2)]
    v = np.array([program.rates_of(c) for c in points])
    t = torch.tensor(v, requires_grad=True)
    out = program.value(t)
    assert out.shape == (len(v),)
    np.testing.assert_allclose(out.detach().numpy(), program.value(v), atol=1e-12)
    np.testing.assert_allclose([program.value(x) for x in v], program.value(v), atol=1e-15)
    if len(program.rates):
        finite = torch.isfinite(out)
        torch.where(finite, out, torch.zeros_like(out)).sum().backward()
        want = np.array([program.gradient(x) for x in v]) * finite.numpy()[:, None]
        np.testing.assert_allclose(t.grad.numpy(), want, rtol=1e-9, atol=1e-12)
    single = program.value(torch.tensor(v[:1], dtype=torch.float32))
    assert single.dtype == torch.float32


def test_torch_measures_violations(data):
    torch = pytest.importorskip("torch", reason="torch is not installed (the extra 'torch')")
    schema, _ = data
    text = (
        "maximize accuracy subject to precision(label=a) >= 0.3 and recall.difference(sex).max() "
        "<= 0.1 and win_loss_ratio >= 1 and h_mean >= 0.2"
    )
    program = program_of(Goal.parse(text), schema)
    rng = np.random.default_rng(5)
    v = np.array([program.rates_of(decisions(schema, rng)) for _ in range(8)])
    t = torch.tensor(v, requires_grad=True)
    worst = program.violation(t)
    np.testing.assert_allclose(worst.detach().numpy(), program.violation(v), atol=1e-12)
    worst.sum().backward()
    assert torch.isfinite(t.grad).all()
    assert (t.grad != 0).any()


SHAPES = {
    "concave": lambda mid, a, b, tol: mid >= (a + b) / 2 - tol,
    "convex": lambda mid, a, b, tol: mid <= (a + b) / 2 + tol,
    "quasiconcave": lambda mid, a, b, tol: mid >= min(a, b) - tol,
    "quasiconvex": lambda mid, a, b, tol: mid <= max(a, b) + tol,
}


def with_parts(program):
    """The objective and all that it is made of."""
    nodes = [program.objective]
    for node in nodes:
        nodes += node.children
    return nodes


@over("text", ALL)
def test_shapes_hold_between_random_points(text, data):
    schema, _ = data
    program = program_of(maximize(objective(text)), schema)
    rng = np.random.default_rng(3)
    nodes = with_parts(program)
    for _ in range(4):
        # Denominators are positive between decisions that predict every class.
        a, b = (program.rates_of(decisions(schema, rng, sparse=-1.0)) for _ in range(2))
        w = rng.choice([0.5, rng.random()])
        for node in nodes:
            at_a, at_b, between = (float(node.value(x)) for x in (a, b, w * a + (1 - w) * b))
            if not np.isfinite([at_a, at_b, between]).all():
                continue
            mean = 2 * (w * at_a + (1 - w) * at_b)
            for name, holds in SHAPES.items():
                if getattr(node.shape, name):
                    ends = (mean / 2, mean / 2) if name.startswith("con") else (at_a, at_b)
                    assert holds(between, *ends, 1e-9), (name, node.shape_name)
            if node.shape_name == "affine":
                assert between == pytest.approx(mean / 2, abs=1e-12)


@over("text", ALL)
def test_ranges_hold_everywhere(text, data):
    schema, _ = data
    program = program_of(maximize(objective(text)), schema)
    rng = np.random.default_rng(4)
    low, high = range_of(program.goal.objective)  # what holds on any data
    nodes = with_parts(program)
    points = [decisions(schema, rng) for _ in range(5)]
    for counts in [*points, *(constant(schema, k) for k in range(5))]:
        v = program.rates_of(counts)
        assert low - 1e-9 <= program.value(v) <= high + 1e-9
        for node in nodes:
            value = float(node.value(v))
            assert node.low - 1e-9 <= value <= node.high + 1e-9, node.shape_name


SHAPE_OF = {
    "affine": [
        "recall + 2 * specificity - 1", "prior", "recall - recall.baseline()", "abs(recall)",
    ],
    "fractional": [
        "1 - precision", "0.5 / precision",
        "recall / (recall + 2 * false_positive_rate)",
        "tp / predicted_rate - fp / predicted_rate", "win_loss_ratio", "wins / losses",
        "win_change_ratio / (losses / churn)",
    ],
    "general": [
        "precision / f1", "sqrt(recall * precision)", "recall * precision", "mcc",
        "precision.difference(sex)",
    ],
    "concave": [
        "h_mean", "q_mean", "sqrt(recall)", "sqrt(recall * specificity)",
        "log(recall) + g_mean", "recall.min() - recall.max()",
    ],
    "convex": [
        "recall.max()", "abs(predicted_rate - prior)", "recall.max() - recall.min()",
    ],
    "quasiconcave": [
        "precision.min()", "sqrt(precision)",
    ],
    "quasiconvex": [
        "-recall.ratio(sex)", "precision.max(sex)", "abs(precision - 0.5)",
    ],
    "sum of ratios": [
        "recall + precision",
    ],
}  # fmt: skip


@over(("shape", "text"), [(shape, text) for shape, texts in SHAPE_OF.items() for text in texts])
def test_shape_names(text, shape):
    schema, _ = grouped(BINARY, 0, baseline=True)
    assert program_of(maximize(objective(text)), schema).objective.shape_name == shape


def test_features_and_weights_agree_with_dense_tensors(monkeypatch):
    for classes, options in [(BINARY, {}), (FIVE, {"baseline": True})]:
        schema, counts = grouped(classes, 6, datasets=True, **options)
        text = (
            "maximize macro_f1 + accuracy.on(audit) + predicted_rate.on(unlabelled).max() "
            f'+ cost({{("{classes[0]}", "{classes[1]}"): 3}}) + error_rate.on(country=IN)'
        )
        text += " + churn + 0.5 * wins - losses" if options else ""
        program = program_of(Goal.parse(text), schema)
        v = program.rates_of(counts)
        with monkeypatch.context() as many:
            many.setattr("setpoint.program.rates._SMALL", 0)
            np.testing.assert_allclose(program.table.of(counts), v, atol=1e-14)
        np.testing.assert_allclose(
            (program.table.tensors * counts).sum(axis=(1, 2, 3)), v, atol=1e-14
        )
        for f, norm, dense in zip(
            program.rates, program.table.norms, program.table.tensors, strict=True
        ):
            low = (dense.min(axis=2) * schema.marginals).sum()
            high = (dense.max(axis=2) * schema.marginals).sum()
            _, *ends = f.sums(schema.weights)
            assert [x / norm for x in ends] == pytest.approx([low, high], abs=1e-14)
        rng = np.random.default_rng(0)
        for _ in range(30):
            some = rng.choice(len(v), min(4, len(v)), replace=False)
            x = Affine({int(j): float(rng.integers(-2, 3)) for j in some}, 0.25)
            dense = tensor_of(program, x)
            want = sum(a * program.table.tensors[j] for j, a in x.terms.items()) + 0 * counts
            np.testing.assert_allclose(dense, want, atol=1e-14)
            low, high = (
                x.const + (extreme(dense, axis=2) * schema.marginals).sum()
                for extreme in (np.min, np.max)
            )
            assert program.table.range(x) == pytest.approx((low, high), abs=1e-12)
            gains = (dense - dense.min(axis=2, keepdims=True)) * (schema.marginals > 0)[:, :, None]
            step = gains[gains > 1e-12].min() if (gains > 1e-12).any() else None
            assert program.table.step(x) == pytest.approx(step, abs=1e-12)
