//go:build !amd64 && !arm64

package jitinfo

import "errors"

func gdbReason() error { return errors.New("unsupported on this processor") }

func registered([]byte) (forget func()) { return func() {} }
