// Package docs holds the reference of the language, embedded: `healc doc` prints its sections.
package docs

import _ "embed"

// Language is docs/language.md.
//
//go:embed language.md
var Language string
