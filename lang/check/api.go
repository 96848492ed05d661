package check

import "healc/lang/check/scope"

// Importer finds the files that a program imports.
type Importer = scope.Importer

// Imported is a file that an Importer found.
type Imported = scope.Imported

// ImportError says why there is nothing to import.
type ImportError = scope.ImportError

// ForeignName is a name of another language, and what one writes here.
type ForeignName = scope.ForeignName

// ForeignNames lists the names of other languages that the checker knows, sorted.
func ForeignNames() []ForeignName { return scope.AllForeignNames() }
