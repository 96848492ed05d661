// Package docs holds the documents for users, embedded: `healc doc` prints their sections and searches them.
package docs

import "embed"

// Language is docs/language.md.
//
//go:embed language.md
var Language string

// Pages are the documents for users.
//
//go:embed *.md tutorial/*.md coming/*.md
var Pages embed.FS
