package driver

import "healc/lang/diag"

// JSONDiagnostic is a diagnostic as `healc check --json` prints it. Lines and columns count from 1,
// columns in code points; the end is the place after the last one marked.
type JSONDiagnostic struct {
	Code     string      `json:"code"`
	Severity string      `json:"severity"` // "error" or "warning"
	Message  string      `json:"message"`
	At       *JSONPlace  `json:"at,omitempty"`
	Related  []JSONPlace `json:"related,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
	Help     string      `json:"help,omitempty"`
}

// JSONPlace is a place in a source with what is said about it.
type JSONPlace struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	EndLine int    `json:"endLine"`
	EndCol  int    `json:"endCol"`
	Text    string `json:"text,omitempty"`
}

// JSONDiagnostics converts a list; the result is never nil, so that it prints as an array. What the list only counts is
// one error or warning more, which has no place and says how many there are.
func JSONDiagnostics(list *diag.List) []JSONDiagnostic {
	out := []JSONDiagnostic{}
	for _, d := range list.Items {
		d = d.Brief()
		j := JSONDiagnostic{Code: string(d.Code), Severity: "error", Message: d.Message, Notes: d.Notes, Help: d.Help}
		if d.Severity == diag.Warning {
			j.Severity = "warning"
		}
		if d.Primary.Span.Valid() {
			p := place(d.Primary)
			j.At = &p
		}
		for _, r := range d.Places() {
			if r.Span.Valid() {
				j.Related = append(j.Related, place(r))
			}
		}
		out = append(out, j)
	}
	errors, warnings := list.NotShown()
	if errors != "" {
		out = append(out, JSONDiagnostic{Severity: "error", Message: errors})
	}
	if warnings != "" {
		out = append(out, JSONDiagnostic{Severity: "warning", Message: warnings})
	}
	return out
}

func place(l diag.Label) JSONPlace {
	from, to := l.Span.Pos(), l.Span.File.Pos(l.Span.End)
	return JSONPlace{File: from.File, Line: from.Line, Col: from.Col, EndLine: to.Line, EndCol: to.Col, Text: l.Text}
}
