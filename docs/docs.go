// Package docs holds the pages that healc shows, embedded: the reference of the language, whose sections
// `healc doc` prints, and the pages for those who come from another system, whose tables it searches.
package docs

import "embed"

// Language is docs/language.md.
//
//go:embed language.md
var Language string

// Coming has docs/coming.
//
//go:embed coming
var Coming embed.FS
