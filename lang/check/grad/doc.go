// Package grad types the functions that differentiate others, and those that say how (Note [Derivatives]).
package grad
