"""Two trees as steps: what stays, what moves, what collapses and grows; and what each step does on the rows."""

import numpy as np
import pytest
from helpers.random_trees import changes, tree_of
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.tree_units import align_trees
from coordpath_governance.errors import AlignmentError, ProblemError, ReferenceDataError
from coordpath_governance.models.decision_tree import leaf_of_rows, rows_as_compared
from coordpath_governance.paths.splits.measured import measure_splits
from coordpath_governance.paths.splits.row_losses import BRIER, LOG_LOSS, SQUARED, RowLosses
from coordpath_governance.paths.splits.tree_change import where_in_tree
from coordpath_governance.paths.splits.tree_on_the_way import tree_on_the_way

SMALL = ("a", 1.5, 2.0, 1.0, ("b", 2.5, 4.0, 3.0, 5.0))


def told(change):
    return [(step.kind, "/".join(step.turns), step.column, step.threshold) for step in change.steps]


def test_the_same_tree_is_no_step():
    change = align_trees(tree_of(SMALL), tree_of(SMALL))
    assert len(change.units) == 0
    assert measured(change).value(()) >= 0


def test_thresholds_that_part_no_single_precision_number_are_the_same():
    """scikit-learn compares float32(x): nothing lies between 1.5 and 1.5 + 1e-9."""
    other = ("a", 1.5 + 1e-9, 2.0, 1.0, SMALL[4])
    assert len(align_trees(tree_of(SMALL), tree_of(other)).units) == 0
    below = ("a", np.nextafter(1.5, 0), 2.0, 1.0, SMALL[4])
    assert told(align_trees(tree_of(SMALL), tree_of(below))) == [("move", "", "a", (1.5, np.nextafter(1.5, 0)))]


def test_a_moved_threshold_keeps_the_children():
    new = ("a", 0.5, 2.5, 1.0, ("b", 3.5, 4.5, 3.0, 6.0))
    change = align_trees(tree_of(SMALL), tree_of(new))
    assert told(change) == [
        ("move", "", "a", (1.5, 0.5)),
        ("move", "right", "b", (2.5, 3.5)),
        ("refit", "right/right", None, (None, None)),
    ]
    assert change.steps[2].value == ((5.0,), (6.0,))
    assert change.units.after == ((), (), ())


def test_another_column_collapses_the_old_subtree_and_grows_the_new_one():
    old = ("a", 1.5, 2.0, ("b", 0.5, 1.0, 0.0, ("b", 1.5, 7.0, 8.0, 9.0)), 3.0)
    new = ("a", 1.5, 2.0, ("a", 0.5, 1.0, ("b", 4.5, 1.5, 6.0, 7.0), 5.0), 3.0)
    change = align_trees(tree_of(old), tree_of(new))
    assert told(change) == [
        ("collapse", "left/right", "b", (1.5, None)),
        ("collapse", "left", "b", (0.5, None)),
        ("grow", "left", "a", (None, 0.5)),
        ("grow", "left/left", "b", (None, 4.5)),
    ]
    assert change.units.after == ((), (0,), (1,), (2,))


def test_a_subtree_that_becomes_a_leaf_and_a_leaf_that_becomes_a_subtree():
    new = ("a", 1.5, 2.0, ("b", 0.5, 9.0, 8.0, 7.0), 4.5)
    change = align_trees(tree_of(SMALL), tree_of(new))
    assert [step.kind for step in change.steps] == ["grow", "collapse", "refit"]
    assert change.units.after == ((), (), (1,))
    assert change.steps[2].value == ((4.0,), (4.5,))
    back = align_trees(tree_of(new), tree_of(("a", 1.5, 2.0, 9.0, 4.5)))
    assert [step.kind for step in back.steps] == ["collapse"]


def test_from_zero_every_split_grows():
    change = align_trees(None, tree_of(SMALL))
    assert [step.kind for step in change.steps] == ["grow", "grow"]
    assert change.units.after == ((), (0,))
    assert change.old.value.tolist() == [[2.0]]


def test_columns_are_matched_by_name():
    old = tree_of(("b", 1.5, 2.0, 1.0, 3.0), columns=("b",))
    new = tree_of(("b", 1.5, 2.0, 1.0, ("a", 0.5, 3.0, 2.0, 4.0)), columns=("a", "b"))
    change = align_trees(old, new)
    assert change.columns == ("b", "a")
    assert told(change) == [("grow", "right", "a", (None, 0.5))]


def test_missing_values_that_go_elsewhere_are_a_step_if_both_trees_take_them():
    left, right = ("a", 1.5, 2.0, 1.0, 3.0, True), ("a", 1.5, 2.0, 1.0, 3.0, False)
    change = align_trees(tree_of(left, takes_missing=True), tree_of(right, takes_missing=True))
    assert change.steps[0].missing_left == (True, False)
    assert change.takes_missing
    assert len(align_trees(tree_of(left), tree_of(right, takes_missing=True)).units) == 0
    rows = rows_as_compared([np.array([np.nan, 1.0]), np.zeros(2)], ("a", "b"), takes_missing=True)
    loss = measure_splits(change, rows, RowLosses(SQUARED, np.array([3.0, 1.0]), np.array([0.5, 0.5])))
    assert loss.along([0]) == [2.0, 0.0]


@pytest.mark.parametrize(
    ("classes", "words"), [((), "the new one numbers"), (("no", "maybe"), "the new one the classes no, maybe")]
)
def test_other_classes_are_refused(classes, words):
    old = tree_of(("a", 1.5, [0.5, 0.5], [1, 0], [0, 1]), classes=("no", "yes"))
    new = tree_of(2.0 if not classes else [0.5, 0.5], classes=classes)
    with pytest.raises(AlignmentError, match=f"predicts the classes no, yes and {words}"):
        align_trees(old, new)


def measured(change, kind=SQUARED, count=50, target=None):
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 5, (len(change.columns), count)).astype(np.float32)
    target = rng.normal(size=count) if target is None else target
    return measure_splits(change, rows, RowLosses(kind, target, np.full(count, 1 / count)))


def predicted(tree, rows):
    return tree.value[leaf_of_rows(tree, rows, rows.shape[1])]


@settings(deadline=None, max_examples=150)
@given(changes(6), st.randoms(use_true_random=False))
def test_the_loss_of_every_tree_on_the_way(made, lot):
    """The sums say what the tree that stands there loses on the rows, row by row."""
    change, rows, losses, loss = made
    done = set()
    for count in range(len(change.units) + 1):
        tree = tree_on_the_way(change, done)
        direct = losses.weight @ losses.of_rows(predicted(tree, rows))
        assert loss.value(done) == pytest.approx(direct, abs=1e-12)
        if not count:
            np.testing.assert_array_equal(predicted(tree, rows), predicted(change.old, rows))
        free = [unit for unit in range(len(change.units)) if unit not in done and set(change.units.after[unit]) <= done]
        assert bool(free) is (count < len(change.units))
        if free:
            done.add(lot.choice(free))
    np.testing.assert_array_equal(predicted(tree, rows), predicted(change.new, rows))


def test_the_brier_score_of_two_and_of_three_classes():
    two = RowLosses(BRIER, np.array([0, 1]), np.array([0.5, 0.5]))
    assert two.of_rows(np.array([[0.8, 0.2], [0.8, 0.2]])).tolist() == pytest.approx([0.04, 0.64])
    three = RowLosses(BRIER, np.array([2]), np.array([1.0]))
    assert three.of_rows(np.array([[0.5, 0.3, 0.2]])).tolist() == pytest.approx([0.25 + 0.09 + 0.64])


def test_the_log_loss_needs_a_probability_of_every_row():
    tree = tree_of(("a", 1.5, [0.5, 0.5], [1.0, 0.0], ("b", 2.5, [0.4, 0.6], [0.3, 0.7], [0.5, 0.5])), classes=("no", "yes"))
    change = align_trees(None, tree)
    with pytest.raises(ReferenceDataError, match=r"leaf 'a ≤ 1\.5' of the new tree .* class of [0-9]+ reference rows"):
        measured(change, LOG_LOSS, target=np.tile([0, 1], 25))
    tree = tree_of(("a", 1.5, [0.5, 0.5], [0.9, 0.1], [0.4, 0.6]), classes=("no", "yes"))
    loss = measured(align_trees(None, tree), LOG_LOSS, target=np.tile([0, 1], 25))
    assert loss.value(()) == pytest.approx(np.log(2))


def test_a_tree_on_the_way_with_probability_0_is_refused():
    """Nobody fits such a tree, whose inner node is surer than its leaves; files may hold it."""
    tree = tree_of(("a", 1.5, [0.5, 0.5], ("b", 2.5, [1.0, 0.0], [0.5, 0.5], [0.4, 0.6]), [0.4, 0.6]), classes=("no", "yes"))
    with pytest.raises(ReferenceDataError, match="node 1 gives probability 0"):
        measured(align_trees(None, tree), LOG_LOSS, target=np.tile([0, 1], 25))


def test_losses_have_a_name():
    with pytest.raises(ProblemError, match="'hinge' is none of squared error"):
        RowLosses("hinge", np.zeros(1), np.ones(1))


def test_where_a_node_is():
    tree = tree_of(SMALL)
    assert [where_in_tree(tree, node) for node in range(5)] == [
        *("the root", "a ≤ 1.5", "a > 1.5", "a > 1.5, b ≤ 2.5", "a > 1.5, b > 2.5"),
    ]
