"""The squared error as a family: its slope and curvature against differences, and what it says of predictions."""

import numpy as np

from coordpath_governance.costs.squared_error import SquaredError


def test_slope_and_curvature_are_the_derivatives_of_the_loss():
    family, step = SquaredError(), 1e-4
    target, score = np.array([0.0, 1.5, -2.0]), np.array([[[0.5, 2.0]], [[1.5, -1.0]], [[3.0, 0.0]]])
    loss, slope = family.loss_and_slope(target, score)
    np.testing.assert_array_equal(loss, (target[:, None] - score[:, 0]) ** 2)
    up, down = family.loss(target, score + step), family.loss(target, score - step)
    np.testing.assert_allclose(slope[:, 0], (up - down) / (2 * step), atol=1e-9)
    np.testing.assert_allclose(
        family.curvature(target, score[:, :, 0])[:, 0], (up + down - 2 * loss)[:, :1] / step**2, atol=1e-5
    )
    np.testing.assert_array_equal(family.least_curvature(target, score[:, :, 0], score[:, :, 1]), np.full((3, 1, 1), 2.0))


def test_predictions_are_scores_and_any_finite_target_will_do():
    family, values = SquaredError(), np.array([[1.0], [-2.0]])
    np.testing.assert_array_equal(family.mean(values), values)
    np.testing.assert_array_equal(family.link(values), values)
    np.testing.assert_array_equal(family.outside(np.array([1.0, np.inf, np.nan])), [False, True, True])
