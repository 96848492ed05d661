package nn

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// rule is the update of one kind of optimizer, by module optim of the library.
type rule struct {
	states []string // what is kept for each element of a parameter, zero at first
	// statements in Heal: from the value w, the gradient g, the rate and the step's number to `next`, with new states
	source string
}

// SGD is gradient descent. With a Momentum m the step is along v, which becomes m v + g in each step. WeightDecay adds
// so much of a value to its gradient.
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
	r := rule{source: "let next = optim.sgd(w, g, rate);\n"}
	if o.Momentum != 0 {
		r = rule{[]string{"velocity"}, "let (next, v) = optim.momentum(w, g, velocity, rate, " + literal(o.Momentum) +
			");\nvelocity = v;\n"}
	}
	if o.WeightDecay != 0 {
		r.source = "let g = g .+ " + literal(o.WeightDecay) + " .* w;\n" + r.source
	}
	return newOptimizer(m, o.Rate, r)
}

// Adam goes along the running mean of the gradients, divided by the root of that of their squares, both made up for
// their start at zero (Kingma and Ba, 2015). Zeros stand for Betas 0.9 and 0.999 and for Epsilon 1e-8. WeightDecay
// shrinks the values themselves, and is no part of the gradient (Loshchilov and Hutter, 2019): with it this is AdamW.
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
	err := check(bound{"Betas[0]", o.Betas[0], 1}, bound{"Betas[1]", o.Betas[1], 1}, bound{"Epsilon", o.Epsilon, 0},
		bound{"WeightDecay", o.WeightDecay, 0})
	if err != nil {
		return nil, fmt.Errorf("Adam: %w", err)
	}
	return newOptimizer(m, o.Rate, rule{[]string{"mean", "square"}, fmt.Sprintf(
		"let (next, (a, b, _)) = optim.adam_with(w, g, (mean, square, step - 1), rate, %s, %s, %s, %s);\nmean = a;\n"+
			"square = b;\n",
		literal(o.Betas[0]), literal(o.Betas[1]), literal(o.Epsilon), literal(o.WeightDecay))})
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
