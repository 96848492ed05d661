package explore

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"sync"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// live stands in the page for the data that healc serves.
type live struct {
	Live    bool    `json:"live"`
	Title   string  `json:"title"`
	Options Options `json:"options"`
}

// WriteHTML writes the page of a program as one file that refers to no other.
func WriteHTML(w io.Writer, d *Data) error { return writePage(w, d.Title, d, "") }

// writePage writes the page. data is *Data, or live; connect is what its script may ask, beside nothing.
func writePage(w io.Writer, title string, data any, connect string) error {
	text, err := json.Marshal(data) // which writes <, > and & otherwise, so that the text ends no element
	if err != nil {
		return err
	}
	policy := "default-src 'none'; img-src data:; style-src '" + hash(pageCSS) + "'; script-src '" + hash(pageJS) + "'"
	if connect != "" {
		policy += "; connect-src " + connect
	}
	return pageTemplate().Execute(w, map[string]any{"Title": title, "Policy": policy, "Style": template.CSS(pageCSS),
		"Script": template.JS(pageJS), "Data": template.JS(text)})
}

// hash is what a content security policy calls a text by.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
