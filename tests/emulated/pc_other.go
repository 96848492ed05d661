//go:build !linux

package emulated

import "errors"

func startPC(folder, dir string) (*Machine, error) { return nil, errors.New("the PC needs Linux") }
