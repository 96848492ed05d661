package driver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"healc/ir/kernel"
	"healc/runtime/abi"
)

// This file has the words for things that several commands show.

// BufferType is the type of a buffer as source.
func BufferType(b *abi.Buffer) string {
	parts := make([]string, len(b.Shape))
	for i, e := range b.Shape {
		parts[i] = kernel.FormatExtent(e)
	}
	if len(parts) == 0 {
		return b.DType.String()
	}
	return b.DType.String() + "[" + strings.Join(parts, ", ") + "]"
}

// LaunchText says how an entry is launched.
func LaunchText(l *abi.DeviceLaunch) string {
	text := fmt.Sprintf("%s: %d threads a block, %s a block of %s", l.Entry, l.Threads, Count(int(l.PerBlock), "item"),
		Extents(l.Items))
	if l.Shared > 0 {
		text += fmt.Sprintf(", %d bytes of dynamic shared memory", l.Shared)
	}
	return text
}

// Nanoseconds is a time, with four digits: 12.35ms.
func Nanoseconds(ns float64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 10000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// Extents prints a product of extents.
func Extents(es []abi.Extent) string {
	if len(es) == 0 {
		return "1"
	}
	var parts []string
	for _, e := range es {
		s := e.Dim.String()
		if e.Div > 1 {
			s = fmt.Sprintf("ceil(%s / %d)", s, e.Div)
		} else if strings.Contains(s, " ") && len(es) > 1 {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " * ")
}

// Count is a number of things as text: no kernels, 1 kernel, 2 kernels.
func Count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Cut is s, or its first n bytes with an ellipsis.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// Shorten quotes text for a message, cut to a line's length.
func Shorten(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strconv.Quote(text)
}

var errorCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[Ee][0-9]{4}$`) })

// IsCode reports whether s looks like an error code.
func IsCode(s string) bool { return errorCode().MatchString(s) }
