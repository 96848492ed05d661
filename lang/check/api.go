package check

import "healc/lang/check/scope"

// Importer finds the files that a program imports.
type Importer = scope.Importer

// Imported is a file that an Importer found.
type Imported = scope.Imported

// ImportError says why there is nothing to import.
type ImportError = scope.ImportError

// Foreign is what one writes in Heal for a value or function that other languages call name.
func Foreign(name string) (form string, ok bool) { return scope.Foreign(name) }
