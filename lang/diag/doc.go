// Package diag has source files and spans, error codes, diagnostics as data, and the one renderer.
// Producers fill in a Diagnostic; nobody else formats text for the user. It imports nothing of the project.
package diag
