// Package types has the element types, extents, shapes and value types of Heal, with their equality
// and broadcasting. Every stage from the checker to the runtime shares it; it imports nothing of the project.
package types
