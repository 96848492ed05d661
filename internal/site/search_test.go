package main

import (
	"html"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc/cmd/healc/driver/manual"
)

// TestSearch: the search in a browser finds what `healc doc` finds, in its order.
func TestSearch(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (apt-get install chromium)")
	}
	out := filepath.Join(t.TempDir(), "site")
	if err := write("../..", out); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`role="option"[^>]*><b>(.*?)</b>`)
	for _, query := range []string{"sort in descending order", "sorting tensors"} {
		page, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
			"--dump-dom", "file://"+out+"/docs/cli.html?q="+strings.ReplaceAll(query, " ", "%20")).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, m := range name.FindAllStringSubmatch(string(page), -1) {
			got = append(got, html.UnescapeString(m[1]))
		}
		entries, _ := manual.Find(query)
		for _, e := range entries[:min(len(entries), 12)] {
			want = append(want, e.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds\n%q, not\n%q", query, got, want)
		}
	}
}
