// Package names says what each name of a file means: where it is declared, and where it is read and written. It looks
// at the syntax alone, so it also knows names in a file that does not check.
package names
