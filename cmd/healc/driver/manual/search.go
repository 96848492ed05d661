package manual

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// Note [Search]
//
// An entry is found by words: by its names, by the parts of its names (`expand_dims` has two), and by the text about
// it. A word of a query finds a word of the index that is the same, that begins with it, or that has the same
// beginning for the most part ("sorted", "sorting"). A word that many entries have counts for less. The weight of an
// entry is the sum over the words of the query, and one that has all of them comes before one that has some. The site
// has the same table, Words, and search.js there the same rule as Find.

// Found says that a word finds an entry, and with which weight.
type Found [2]int

// The weights of a word: a name, a part of a name or a word of a title, a word in a text.
const (
	asName = 1000
	asPart = 400
	asText = 200
)

// usualText is how many bytes a text has in which a word counts in full: in a longer one it is less what that is about.
const usualText = 400

// kindWeight puts what is written here before what only tells of it, where both have a name.
var kindWeight = map[string]float64{"function": 1, "library": 0.97, "section": 0.9, "error": 0.9, "operation": 0.7}

// Words is the index by words, in their plain form.
var Words = sync.OnceValue(func() map[string][]Found {
	out := map[string][]Found{}
	for i, e := range Index() {
		weights := map[string]int{}
		put := func(text string, weight int) {
			for _, w := range plainWords(text) {
				weights[w] = max(weights[w], weight)
			}
		}
		about := e.text + " " + e.Summary
		put(about, int(asText*math.Sqrt(min(1, usualText/float64(len(about)+1)))))
		for _, name := range e.names {
			put(strings.ReplaceAll(name, "_", " "), asPart)
		}
		if e.Kind != "section" || len(e.names) == 1 {
			for _, name := range e.names {
				put(name, asName)
			}
		}
		scale := 0.95
		if k, ok := kindWeight[e.Kind]; ok {
			scale = k
		}
		for w, weight := range weights {
			out[w] = append(out[w], Found{i, int(float64(weight) * scale)})
		}
	}
	all := math.Log(float64(len(Index())))
	for _, found := range out {
		rare := 1 - math.Log(float64(len(found)))/all
		for i := range found {
			found[i][1] = int(math.Round(float64(found[i][1]) * (0.2 + 0.8*rare)))
		}
	}
	return out
})

// idle are words of a question that say nothing of what is looked for.
var idle = wordSet("a all an and are be by can did do does for from get have how i in is it make my not of on or " +
	"that the there this to use what when where which why with")

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range plainWords(words) {
		out[w] = true
	}
	return out
}

// plainWords are the words of a text in their plain form.
func plainWords(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		out = append(out, plain(w))
	}
	return out
}

// plain is a word without the s of a plural.
func plain(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// alike is how much of its weight a word of the index counts for a word of a query, in percent.
func alike(query, word string) int {
	same := 0
	for same < len(query) && same < len(word) && query[same] == word[same] {
		same++
	}
	switch {
	case same == len(query) && same == len(word):
		return 100
	case same == len(query) && same >= 3:
		return 50
	case same >= 4 && 4*same >= 3*max(len(query), len(word)-3):
		return 30
	}
	return 0
}

// Find are the entries for a query, the best first, and how much a word of it is like one of theirs, in percent.
func Find(query string) (entries []Entry, most int) {
	var asked []string
	for _, w := range plainWords(query) {
		if !idle[w] && !slices.Contains(asked, w) {
			asked = append(asked, w)
		}
	}
	weight, has := map[int]int{}, map[int]int{}
	for _, q := range asked {
		best := map[int]int{}
		for word, found := range Words() {
			like := alike(q, word)
			if like == 0 {
				continue
			}
			most = max(most, like)
			for _, f := range found {
				best[f[0]] = max(best[f[0]], f[1]*like)
			}
		}
		for i, b := range best {
			weight[i] += b
			has[i]++
		}
	}
	var order []int
	for i := range weight {
		weight[i] = weight[i] * has[i] * has[i] * has[i] / (len(asked) * len(asked) * len(asked))
		order = append(order, i)
	}
	slices.SortFunc(order, func(i, j int) int {
		if weight[i] != weight[j] {
			return weight[j] - weight[i]
		}
		return i - j
	})
	for _, i := range order {
		entries = append(entries, Index()[i])
	}
	entries = spread(entries)
	return entries, most
}

// spread puts more than two entries of one system, or of one page, behind the others.
func spread(entries []Entry) []Entry {
	var first, then []Entry
	count := map[string]int{}
	for _, e := range entries {
		of := e.Kind
		if e.Kind == "section" {
			of, _, _ = strings.Cut(e.Page, "#")
		}
		if _, here := kindWeight[of]; !here {
			count[of]++
		}
		if count[of] > 2 {
			then = append(then, e)
		} else {
			first = append(first, e)
		}
	}
	return append(first, then...)
}

// list writes entries, one below the other.
func list(w io.Writer, entries []Entry) {
	for _, e := range entries {
		name, show := e.Name, ""
		switch {
		case e.Show != "" && e.Show != e.Name:
			show = fmt.Sprintf("  (healc doc %s)", asArgument(e.Show))
		case e.Show == "":
			name = fmt.Sprintf("%s (%s)", e.Name, e.Kind)
		}
		fmt.Fprintf(w, "\n  %s%s\n", name, show)
		for i, line := range wrap(e.Summary, 92) {
			if i == 2 {
				fmt.Fprintln(w, "      ...")
				break
			}
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
}

// Idle are the words of a query that say nothing, sorted, for the search of the site.
func Idle() []string { return slices.Sorted(maps.Keys(idle)) }
