// Package unify computes with shape expressions, which are polynomials over shape parameters (types.Dim): it combines
// them within bounds, knows their sign where it is known, and finds the shape parameters of a call by unifying the
// types of parameters with those of arguments (Note [Solving extents]).
package unify
