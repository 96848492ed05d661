package onnx_test

import (
	"encoding/binary"
	"math"
)

// This file writes ONNX models, for tests.

// pb is a protobuf message.
type pb []byte

func (m pb) number(field int, v int64) pb {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), uint64(v))
}

func (m pb) bytes(field int, v []byte) pb {
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|2), uint64(len(v)))
	return append(m, v...)
}

func (m pb) text(field int, v string) pb { return m.bytes(field, []byte(v)) }

// ONNX's numbers of element types.
const (
	float32s = 1
	int64s   = 7
)

// floats is a tensor of f32.
func floats(name string, shape []int64, v ...float32) pb {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return header(name, float32s, shape).bytes(9, raw)
}

// longs is a tensor of i64 of rank 1.
func longs(name string, v ...int64) pb {
	m := header(name, int64s, []int64{int64(len(v))})
	for _, x := range v {
		m = m.number(7, x)
	}
	return m
}

func header(name string, elem int64, shape []int64) pb {
	var m pb
	for _, n := range shape {
		m = m.number(1, n)
	}
	return m.number(2, elem).text(8, name)
}

// dim is an extent: a number, or the name of a dimension.
type dim any

// info is an input or output.
func info(name string, elem int64, shape ...dim) pb {
	var s pb
	for _, d := range shape {
		switch d := d.(type) {
		case int:
			s = s.bytes(1, pb{}.number(1, int64(d)))
		case string:
			s = s.bytes(1, pb{}.text(2, d))
		}
	}
	return pb{}.text(1, name).bytes(2, pb{}.bytes(1, pb{}.number(1, elem).bytes(2, s)))
}

// node is a call of an operator: its inputs and outputs, and attributes.
func node(op string, in, out []string, attrs ...pb) pb {
	var m pb
	for _, name := range in {
		m = m.text(1, name)
	}
	for _, name := range out {
		m = m.text(2, name)
	}
	m = m.text(4, op)
	for _, a := range attrs {
		m = m.bytes(5, a)
	}
	return m
}

func intAttr(name string, v int64) pb { return pb{}.text(1, name).number(3, v).number(20, 2) }

func intsAttr(name string, v ...int64) pb {
	m := pb{}.text(1, name).number(20, 7)
	for _, n := range v {
		m = m.number(8, n)
	}
	return m
}

// graph is the parts of a model.
type graph struct {
	nodes, tensors, inputs, outputs []pb
}

// model is a file of version 17 of the operators.
func (g graph) model() []byte { return g.version(17) }

func (g graph) version(opset int64) []byte {
	m := pb{}.text(2, "graph")
	for field, parts := range map[int][]pb{1: g.nodes, 5: g.tensors, 11: g.inputs, 12: g.outputs} {
		for _, p := range parts {
			m = m.bytes(field, p)
		}
	}
	return pb{}.number(1, 8).text(2, "heal").bytes(7, m).bytes(8, pb{}.number(2, opset))
}
