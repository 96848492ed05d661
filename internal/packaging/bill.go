package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is what a binary is linked of, and under which licence.
type module struct {
	path, version, license string
	texts                  []string // of its licence, and what it wants to be told
}

// std is the name of Go's standard library among modules, as advisories call it. Its licence is that of golang.org/x.
const std, stdLicense = "std", "golang.org/x/sys"

// modulesOf are the modules in programs, with their licences.
func modulesOf(programs map[target]string) ([]module, error) {
	found := map[string]module{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		found[std] = module{path: std, version: strings.TrimPrefix(info.GoVersion, "go")}
		for _, m := range info.Deps {
			found[m.Path] = module{path: m.Path, version: m.Version}
		}
	}
	var out []module
	for _, m := range found {
		from := m.path
		if from == std {
			from = stdLicense
		}
		dir, err := goIn(nil, "list", "-m", "-f", "{{.Dir}}", from).Output()
		if err != nil {
			return nil, fmt.Errorf("the folder of module %s: %w", from, err)
		}
		if err := m.read(strings.TrimSpace(string(dir))); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return out, nil
}

// read finds the licence of a module in its folder.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isLicense.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, string(text))
		m.license = cmp.Or(m.license, licenseOf(string(text)))
	}
	if m.license == "" {
		return fmt.Errorf("the licence of module %s is not known: no file in %s has the text of one in `licenses`",
			m.path, dir)
	}
	return nil
}

var isLicense = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice)(\.|-|$)`)

// licenses are what licences say and no other does, the narrower before the wider, by their names in SPDX. They are
// those of the modules there are; any other ends a release, so that somebody reads it and adds it here.
var licenses = []struct {
	name  string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"MIT", []string{"Permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"0BSD", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"Unlicense", []string{"This is free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"CC0 1.0 Universal"}},
}

// licenseOf is the licence that a text is, "" if none of those known.
func licenseOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range licenses {
		if !slices.ContainsFunc(l.words, func(w string) bool { return !strings.Contains(text, w) }) {
			return l.name
		}
	}
	return ""
}

// licenseTexts are the licences of modules, which want to be distributed with what is made of them.
func licenseTexts(modules []module) []byte {
	var b strings.Builder
	b.WriteString("healc is linked with the modules below, whose licences follow.\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%[1]s\n\n", strings.Repeat("=", 80), m.path, m.version, m.license)
		b.WriteString(strings.TrimSpace(strings.Join(m.texts, "\n\n")) + "\n")
	}
	return []byte(b.String())
}

// bill is the bill of materials of the release, in the form of CycloneDX: JSON with the few fields that a list of
// modules needs, for which no library has to be a module that healc depends on.
func (r *release) bill(modules []module) ([]byte, error) {
	type license struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	type component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Licenses []license `json:"licenses"`
		PURL     string    `json:"purl,omitempty"`
	}
	licensed := func(id string) []license {
		var l license
		l.License.ID = id
		return []license{l}
	}
	self := component{"application", "healc@" + r.version, "healc", r.version, licensed("Apache-2.0"), ""}
	var parts []component
	var refs []string
	for _, m := range modules {
		url := "pkg:golang/" + m.path + "@" + m.version
		parts = append(parts, component{"library", url, m.path, m.version, licensed(m.license), url})
		refs = append(refs, url)
	}
	type dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
	type metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	out := struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}{"CycloneDX", "1.5", "", 1, metadata{r.time.Format("2006-01-02T15:04:05Z"), self}, parts,
		[]dependency{{self.Ref, refs}}}
	// the number is random where bills are made at random; here it follows from what the bill says
	sum := sha256.Sum256([]byte(fmt.Sprint(r.version, r.time.Unix(), refs)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, whose bits are anyone's own
	out.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}
