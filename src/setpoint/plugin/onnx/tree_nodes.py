"""Trees as nodes that give the numbers of scikit-learn, to the last bit of a sum.

ONNX adds the leaves of an ensemble in float32. Votes of a forest are often equal, and
rounding then breaks ties otherwise than float64 does: of 10,000 rows of three classes up to
25 were decided otherwise. So the ensemble only finds the leaf of each tree, a whole number;
its values are looked up in float64 and added in the order of the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from setpoint.array_types import Floats
from setpoint.packages import needed_by
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.nodes import DOUBLE, FLOAT, INT64, Nodes

__all__ = ["is_of_trees", "tree_scores"]

_FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
_SINGLE = (DecisionTreeClassifier, ExtraTreeClassifier)

_MOST_LEAVES = 2**24
"""Whole numbers up to here are float32."""


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree as arrays, one entry a node; what a leaf has beside its value does not matter."""

    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.int64]
    leaf: NDArray[np.bool_]
    value: Floats


def is_of_trees(model: Any) -> bool:
    """Whether a model is made of trees that :func:`tree_scores` knows."""
    if type(model) is GradientBoostingClassifier:
        return bool(model.loss == "log_loss" and (model.init is None or model.init == "zero"))
    return type(model) in (*_FORESTS, *_SINGLE, HistGradientBoostingClassifier)


def tree_scores(nodes: Nodes, model: Any, features: str, method: str) -> str:
    """Add a fitted model of trees.

    Parameters
    ----------
    nodes : Nodes
    model : classifier
        One that :func:`is_of_trees` knows.
    features : str
        A matrix of numbers, (N, p).
    method : {"predict_proba", "decision_function"}

    Returns
    -------
    str
        Its response, float64, (N, n), or (N, 1) of the decision function of two classes.

    Raises
    ------
    ExportError
        If a tree splits categories, which are sets and not numbers.
    """
    if isinstance(model, HistGradientBoostingClassifier):
        stages = [[_of_histogram(tree) for tree in stage] for stage in model._predictors]
        start, x = np.atleast_2d(model._baseline_prediction), nodes.cast(features, DOUBLE)
        return _boosted(nodes, x, stages, start, method)
    # These take their features as float32 themselves, and compare them with float64.
    x = nodes.cast(nodes.cast(features, FLOAT), DOUBLE)
    if isinstance(model, GradientBoostingClassifier):
        rate = model.learning_rate
        stages = [[_of_tree(tree.tree_, rate) for tree in stage] for stage in model.estimators_]
        start = model._raw_predict_init(np.zeros((1, model.n_features_in_)))
        return _boosted(nodes, x, stages, start, method)
    trees = model.estimators_ if isinstance(model, _FORESTS) else [model]
    found = _leaf_values(nodes, x, [_of_tree(tree.tree_) for tree in trees])
    total = _sum(nodes, found)
    return nodes("Div", [total, nodes.constant([[float(len(trees))]])])


def _boosted(
    nodes: Nodes, x: str, stages: Sequence[Sequence[_Tree]], start: Floats, method: str
) -> str:
    """What the stages add up to, or the probabilities that it stands for."""
    found = _leaf_values(nodes, x, [tree for stage in stages for tree in stage])
    width = start.shape[1]
    raw = nodes.side_by_side(
        [_sum(nodes, [nodes.constant(start[:, k : k + 1]), *found[k::width]]) for k in range(width)]
    )
    if method == "decision_function":
        return raw
    if width > 1:
        return nodes("Softmax", [raw], axis=1)
    positive = nodes("Sigmoid", [raw])
    return nodes.side_by_side([nodes("Sub", [nodes.constant([[1.0]]), positive]), positive])


def _sum(nodes: Nodes, names: Sequence[str]) -> str:
    total = names[0]
    for name in names[1:]:
        total = nodes("Add", [total, name])
    return total


def _leaf_values(nodes: Nodes, x: str, trees: Sequence[_Tree]) -> list[str]:
    """For each tree the values of each row's leaf, float64 (N, m)."""
    helper = needed_by("ONNX graphs", "onnx", "onnx.helper")
    table = np.concatenate([tree.value[tree.leaf] for tree in trees])
    if len(table) > _MOST_LEAVES:
        raise ExportError(f"`estimator`: {len(table)} leaves; {_MOST_LEAVES} are possible in ONNX")
    own = [np.arange(len(tree.leaf)) for tree in trees]
    number = [np.full(len(tree.leaf), k) for k, tree in enumerate(trees)]

    def joined(parts: Sequence[NDArray[Any]]) -> list[Any]:
        found: list[Any] = np.concatenate(parts).tolist()
        return found

    leaves = joined([tree.leaf for tree in trees])
    thresholds = joined([np.where(tree.leaf, 0.0, tree.threshold) for tree in trees])
    count = sum(leaves)

    def doubles(name: str, values: list[float]) -> Any:
        return helper.make_tensor(name, DOUBLE, [len(values)], values)

    at_leaves = [k for k, leaf in zip(joined(number), leaves, strict=True) if leaf]
    found = nodes(
        "TreeEnsembleRegressor",
        [x],
        op_domain="ai.onnx.ml",
        op_version=3,
        n_targets=len(trees),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=joined(number),
        nodes_nodeids=joined(own),
        nodes_featureids=joined([np.where(t.leaf, 0, t.feature) for t in trees]),
        nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in leaves],
        nodes_values_as_tensor=doubles("nodes_values_as_tensor", thresholds),
        nodes_truenodeids=joined([np.where(t.leaf, 0, t.left) for t in trees]),
        nodes_falsenodeids=joined([np.where(t.leaf, 0, t.right) for t in trees]),
        nodes_missing_value_tracks_true=joined(
            [np.where(t.leaf, 0, t.missing_left) for t in trees]
        ),
        target_treeids=at_leaves,
        target_nodeids=[k for k, leaf in zip(joined(own), leaves, strict=True) if leaf],
        target_ids=at_leaves,
        target_weights_as_tensor=doubles(
            "target_weights_as_tensor", np.arange(float(count)).tolist()
        ),
    )
    leaf, values = nodes.cast(found, INT64), nodes.constant(table)
    out = []
    for k in range(len(trees)):
        index = nodes("Gather", [leaf, nodes.constant(k)], axis=1)
        out.append(nodes("Gather", [values, index], axis=0))
    return out


def _of_tree(tree: Any, rate: float | None = None) -> _Tree:
    """A tree of scikit-learn; with a rate the values that boosting adds."""
    value = tree.value[:, 0, :]
    return _Tree(
        feature=tree.feature.astype(np.int64),
        threshold=tree.threshold,
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        missing_left=np.asarray(tree.missing_go_to_left, dtype=np.int64),
        leaf=tree.children_left < 0,
        value=value if rate is None else rate * value,
    )


def _of_histogram(predictor: Any) -> _Tree:
    """A tree of histogram boosting."""
    found = predictor.nodes
    leaf = found["is_leaf"].astype(bool)
    if found["is_categorical"][~leaf].any():
        raise ExportError(
            "`estimator`: a HistGradientBoostingClassifier that splits categories; encode them, as "
            "by OneHotEncoder"
        )
    return _Tree(
        feature=found["feature_idx"].astype(np.int64),
        threshold=found["num_threshold"].astype(np.float64),
        left=found["left"].astype(np.int64),
        right=found["right"].astype(np.int64),
        missing_left=found["missing_go_to_left"].astype(np.int64),
        leaf=leaf,
        value=found["value"].astype(np.float64)[:, None],
    )
