// Package literal says what number a literal is: its type where its context does not give it one, and its bits in
// that type.
package literal
