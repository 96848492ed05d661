package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The chart's measures in pixels.
const (
	chartWidth, chartHeight = 860, 480
	left, right             = 70, 130
	top, bottom             = 50, 50
)

// colors tell programs apart, and dashes numbers of threads: the palette of Okabe and Ito, which those see who do not
// tell red from green.
var colors = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"}

// chart draws the time of an element over the number of elements as SVG, both on logarithmic axes.
func chart(title string, all []series) string {
	var b strings.Builder
	low, high := math.Inf(1), math.Inf(-1)
	first, last := math.Inf(1), math.Inf(-1)
	for _, s := range all {
		for _, p := range s.Points {
			y := math.Log10(nanoseconds(p))
			low, high = min(low, y), max(high, y)
			x := math.Log2(float64(p.Elements))
			first, last = min(first, x), max(last, x)
		}
	}
	if low > high { // nothing was measured
		low, high, first, last = 0, 1, 0, 1
	}
	low, high = math.Floor(low), max(math.Ceil(high), math.Floor(low)+1)
	last = max(last, first+1)
	x := func(v float64) float64 { return left + (v-first)/(last-first)*(chartWidth-left-right) }
	y := func(v float64) float64 { return chartHeight - bottom - (v-low)/(high-low)*(chartHeight-top-bottom) }
	line := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", x1, y1, x2, y2)
	}
	text := func(at, up float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">`, at, up, anchor)
		_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
		b.WriteString("</text>\n")
	}
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	text(left, top-20, "start", title)
	for v := math.Ceil(first/2) * 2; v <= last; v += 2 {
		line(x(v), y(low), x(v), y(high))
		text(x(v), y(low)+20, "middle", fmt.Sprintf("2^%.0f", v))
	}
	for v := low; v <= high; v++ {
		line(x(first), y(v), x(last), y(v))
		text(x(first)-8, y(v)+4, "end", fmt.Sprintf("%g ns", math.Pow(10, v)))
	}
	programs := map[string]string{}
	for i, s := range all {
		if programs[s.Program] == "" {
			programs[s.Program] = colors[len(programs)%len(colors)]
		}
		style := ""
		if s.Threads > 1 {
			style = ` stroke-dasharray="6 3"`
		}
		var path []string
		for _, p := range s.Points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(math.Log2(float64(p.Elements))),
				y(math.Log10(nanoseconds(p)))))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
			strings.Join(path, " "), programs[s.Program], style)
		key := float64(top + 18*i)
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-width="2"%s/>`+"\n",
			chartWidth-right+10, key, chartWidth-right+36, key, programs[s.Program], style)
		text(chartWidth-right+42, key+4, "start", fmt.Sprintf("%s, %s", s.Program, threadCount(s.Threads)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// nanoseconds of an element; the clock of a point that takes no time at all still says something.
func nanoseconds(p point) float64 { return max(p.Median*1e9/float64(p.Elements), 1e-6) }

func threadCount(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
