package aot

import (
	"fmt"

	"healc/codegen"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Supported says what a library cannot do that the entry asks for. The error is a *codegen.Unsupported.
func (e *Entry) Supported() error {
	refuse := func(s abi.Site, what, why string) error {
		if s.Line != 0 {
			what = fmt.Sprintf("%s:%d:%d: %s", s.File, s.Line, s.Col, what)
		}
		return &codegen.Unsupported{What: what, Target: "a library", Why: why}
	}
	name := fmt.Sprintf("the function `%s`", e.Name)
	if d := e.undetermined(); d != "" {
		return refuse(abi.Site{}, name,
			fmt.Sprintf(
				"no argument and no result determines the shape parameter %s; give it a value with --shape %s=EXTENT",
				d, d))
	}
	var sites []abi.Site
	var visit func(f *abi.Function, steps []abi.Step) error
	visit = func(f *abi.Function, steps []abi.Step) error {
		for _, s := range steps {
			var err error
			switch {
			case s.Host != nil && (s.Host.Name == hostAssert || e.Ranks != nil && exchanges[s.Host.Name] != nil):
			case s.Host != nil:
				site := abi.Site{}
				if s.Host.Site < len(sites) {
					site = sites[s.Host.Site]
				}
				return refuse(site, fmt.Sprintf("`%s` in %s", s.Host.Name, name),
					"a library does no input and output and has no strings; return the value instead, or choose "+
						"other functions by `pub` or --entry")
			case s.Copy != nil && f.Buffers[s.Copy.To].DType == types.String, s.Call != nil && passesText(f, s.Call),
				s.Loop != nil && swapsText(f, s.Loop):
				return refuse(abi.Site{}, name, "it computes with strings, and a library has none")
			case s.If != nil:
				if err = visit(f, s.If.Then); err == nil {
					err = visit(f, s.If.Else)
				}
			case s.Loop != nil:
				err = visit(f, s.Loop.Body)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, km := range e.modules() {
		sites = km.Plan.Sites
		for _, f := range km.Plan.Funcs {
			if err := visit(f, f.Steps); err != nil {
				return err
			}
		}
	}
	return nil
}

// passesText reports that a call has strings among its arguments or results.
func passesText(f *abi.Function, c *abi.Call) bool {
	for _, a := range c.Args {
		if f.Buffers[a.Buffer].DType == types.String {
			return true
		}
	}
	for _, b := range c.Out {
		if f.Buffers[b].DType == types.String {
			return true
		}
	}
	return false
}

// swapsText reports that a loop has a string as a state.
func swapsText(f *abi.Function, l *abi.Loop) bool {
	for _, s := range l.Swap {
		if f.Buffers[s[0]].DType == types.String {
			return true
		}
	}
	return false
}
