package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual has a page for each command, by the name of its file. Its texts are those of --help, which cobra's own
// generator reads as Markdown, and prints beside `--ranks=1` and `--allow-import=[]` in place of `--ranks N`.
func manual(root *cobra.Command, version string, at time.Time) map[string]string {
	pages := map[string]string{}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		pages[pageName(c)+".1"] = page(c, version, at)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				add(sub)
			}
		}
	}
	add(root)
	return pages
}

// pageName is the name of a command's page: healc-run.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the manual page of a command, for the macros of man(7).
func page(c *cobra.Command, version string, at time.Time) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH "%s" "1" "%s" "healc %s" "Heal"`, strings.ToUpper(roff(pageName(c))), at.Format("2006-01-02"),
		roff(version))
	line(".SH NAME\n%s \\- %s", roff(pageName(c)), roff(c.Short))
	line(".SH SYNOPSIS")
	if usage, rest, ok := strings.Cut(c.UseLine(), c.CommandPath()); ok && usage == "" {
		line(`\fB%s\fR%s`, roff(c.CommandPath()), roff(rest))
	} else {
		line("%s", roff(c.UseLine()))
	}
	line(".SH DESCRIPTION")
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	line("%s", paragraphs(text))
	if c.Example != "" {
		line(".SH EXAMPLES\n%s", paragraphs(c.Example))
	}
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if !c.HasParent() {
		line(".SH COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				line(".TP\n\\fB%s\\fR(1)\n%s", roff(pageName(sub)), roff(sub.Short))
			}
		}
		line(".SH EXIT STATUS\n.TP\n.B 0\nAll went well; of healc run, what main returns.")
		line(".TP\n.B 1\nThe program does not compile.\n.TP\n.B 2\nThe command line is wrong.")
		line(".TP\n.B 3\nThe program failed while it ran.\n.TP\n.B 4\nA bug in healc, which it says.")
	}
	var also []string
	if c.HasParent() {
		also = append(also, c.Parent().Name())
		if c.Parent().HasParent() {
			also[0] = pageName(c.Parent())
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				also = append(also, pageName(sub))
			}
		}
	}
	for i, name := range also {
		also[i] = `\fB` + roff(name) + `\fR(1)`
	}
	also = append(also, "cli.md among the documents")
	line(".SH SEE ALSO\n%s", strings.Join(also, ",\n"))
	return b.String()
}

// options writes a section of flags.
func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			usage += " (" + d + " without it)"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, paragraphs(usage))
	})
}

// paragraphs is text for man: empty lines part paragraphs, and lines that begin with a blank stay as they are.
func paragraphs(text string) string {
	var out []string
	fixed := false
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		l = strings.TrimRight(l, " \t")
		keeps := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		switch {
		case keeps && !fixed:
			out = append(out, ".nf")
		case !keeps && fixed:
			out = append(out, ".fi")
		}
		fixed = keeps
		if l == "" {
			out = append(out, ".PP")
			continue
		}
		out = append(out, roff(l))
	}
	if fixed {
		out = append(out, ".fi")
	}
	return strings.Join(out, "\n")
}

// roff is a line of text as roff reads it.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
