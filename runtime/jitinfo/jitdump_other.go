//go:build !linux

package jitinfo

import "errors"

type dump struct{}

func newDump(string) (*dump, error) { return nil, errors.New("unsupported on this system") }

func (*dump) loaded([]Function, []line, unwindTable) error { return nil }
