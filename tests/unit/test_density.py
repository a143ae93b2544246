import numpy as np
import pytest

from veridream.coverage.density import covered, mean_per_cell, visitation

GRID = {"low": (0.0, -1.0), "high": (1.0, 1.0), "cells": 2}


def test_visits_by_hand():
    xy = np.array([[0.1, -0.9], [0.1, -0.8], [0.9, -0.5], [0.4, 0.5]])
    assert visitation(xy, **GRID).tolist() == [[2, 1], [1, 0]]
    assert covered(visitation(xy, **GRID)) == 0.75


def test_edges_and_points_outside_count_in_the_border_cells():
    xy = np.array([[1.0, 1.0], [0.0, -1.0], [9.0, -9.0], [0.5, 0.0]])
    out = visitation(xy, **GRID)
    assert out.tolist() == [[1, 0], [1, 2]]
    assert out.sum() == len(xy)


def test_mean_of_a_value_in_each_cell():
    xy = np.array([[0.1, -0.9], [0.1, -0.8], [0.9, 0.5], [0.9, 0.6]])
    out = mean_per_cell(xy, np.array([1.0, 3.0, np.nan, 5.0]), **GRID)
    np.testing.assert_array_equal(out, [[2.0, np.nan], [np.nan, 5.0]])


def test_bad_grids_and_points_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        visitation(np.array([[np.nan, 0.0]]), **GRID)
    with pytest.raises(ValueError, match="no grid"):
        visitation(np.zeros((1, 2)), (0.0, 1.0), (1.0, 1.0), 4)
