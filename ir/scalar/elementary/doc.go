// Package elementary expands the elementary functions of the language into the instructions of package scalar
// (Note [Expansions]).
package elementary
