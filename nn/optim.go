package nn

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// rule is the update of one kind of optimizer.
type rule struct {
	states  []string // what is kept for each element of a parameter, zero at first
	scalars []string // what may change from step to step
	source  string   // statements in Heal: from the value w and the gradient g to the value `next`, with new states
	at      func(rate float64, step int64) []float64
}

// SGD is gradient descent. With a Momentum m the step is along v, which becomes m v + g in each step. WeightDecay adds so
// much of a value to its gradient.
type SGD struct {
	Rate        float64
	Momentum    float64
	WeightDecay float64
}

// NewSGD makes an optimizer of all parameters of a module. Close it before the module.
func NewSGD(m *Module, o SGD) (*Optimizer, error) {
	if err := check(bound{"Momentum", o.Momentum, 1}, bound{"WeightDecay", o.WeightDecay, 0}); err != nil {
		return nil, fmt.Errorf("SGD: %w", err)
	}
	r := rule{scalars: []string{"rate"}, at: func(rate float64, _ int64) []float64 { return []float64{rate} }}
	if o.WeightDecay != 0 {
		r.source += "let g = g .+ " + literal(o.WeightDecay) + " .* w;\n"
	}
	if o.Momentum != 0 {
		r.states = []string{"velocity"}
		r.source += "velocity = " + literal(o.Momentum) + " .* velocity .+ g;\nlet g = velocity;\n"
	}
	r.source += "let next = w .- rate .* g;\n"
	return newOptimizer(m, o.Rate, r)
}

// Adam goes along the running mean of the gradients, divided by the root of that of their squares, both made up for their
// start at zero (D. Kingma, J. Ba: Adam, 2015). Zeros stand for Betas 0.9 and 0.999 and for Epsilon 1e-8. WeightDecay
// shrinks the values themselves, and is no part of the gradient (I. Loshchilov, F. Hutter: Decoupled weight decay
// regularization, 2019): with it this is AdamW.
type Adam struct {
	Rate        float64
	Betas       [2]float64
	Epsilon     float64
	WeightDecay float64
}

// NewAdam makes an optimizer of all parameters of a module. Close it before the module.
func NewAdam(m *Module, o Adam) (*Optimizer, error) {
	if o.Betas == [2]float64{} {
		o.Betas = [2]float64{0.9, 0.999}
	}
	o.Epsilon = cmp.Or(o.Epsilon, 1e-8)
	err := check(bound{"Betas[0]", o.Betas[0], 1}, bound{"Betas[1]", o.Betas[1], 1}, bound{"Epsilon", o.Epsilon, 0}, bound{"WeightDecay", o.WeightDecay, 0})
	if err != nil {
		return nil, fmt.Errorf("Adam: %w", err)
	}
	r := rule{states: []string{"mean", "square"}, scalars: []string{"rate", "scale", "decay"}}
	r.at = func(rate float64, step int64) []float64 {
		return []float64{rate / (1 - power(o.Betas[0], step)), 1 / math.Sqrt(1-power(o.Betas[1], step)), rate * o.WeightDecay}
	}
	if o.WeightDecay != 0 {
		r.source += "let w = w .- decay .* w;\n"
	}
	r.source += "mean = " + literal(o.Betas[0]) + " .* mean .+ " + literal(1-o.Betas[0]) + " .* g;\n" +
		"square = " + literal(o.Betas[1]) + " .* square .+ " + literal(1-o.Betas[1]) + " .* (g .* g);\n" +
		"let next = w .- rate .* mean ./ (sqrt(square) .* scale .+ " + literal(o.Epsilon) + ");\n"
	return newOptimizer(m, o.Rate, r)
}

// power is x^n. Each product is rounded, so that it has the same bits on every machine.
func power(x float64, n int64) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

// bound is a number that has to be at least 0, and below another where that is not 0.
type bound struct {
	name     string
	x, below float64
}

func check(list ...bound) error {
	for _, b := range list {
		switch {
		case b.below != 0 && !(b.x >= 0 && b.x < b.below):
			return fmt.Errorf("%s is %v, and has to be from 0 to below %v", b.name, b.x, b.below)
		case !(b.x >= 0) || math.IsInf(b.x, 0):
			return fmt.Errorf("%s is %v, and has to be 0 or a finite number above it", b.name, b.x)
		}
	}
	return nil
}

// literal is a number as Heal source, of the type that its context asks for.
func literal(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
