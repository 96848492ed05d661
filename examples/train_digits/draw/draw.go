package main

import (
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colors of the networks, distinct for the colour-blind as well (Okabe and Ito).
var colors = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}}

// drawCurves writes an SVG with two plots side by side: the losses on a logarithmic scale, and the accuracies.
func drawCurves(all []history, path string) error {
	loss, accuracy := plot.New(), plot.New()
	loss.Title.Text, accuracy.Title.Text = "Loss of the training images", "Accuracy on the test images"
	loss.Y.Scale, loss.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	accuracy.Y.Min, accuracy.Y.Max = 0.85, 1
	accuracy.Legend.Top, accuracy.Legend.Left = false, false
	for i, h := range all {
		for _, p := range []struct {
			plot   *plot.Plot
			values []float32
		}{{loss, h.losses}, {accuracy, h.accuracy}} {
			line, err := plotter.NewLine(points(p.values))
			if err != nil {
				return err
			}
			line.Color, line.Width = colors[i%len(colors)], vg.Points(1.2)
			p.plot.Add(line)
			p.plot.Legend.Add(h.name, line)
		}
	}
	for _, p := range []*plot.Plot{loss, accuracy} {
		p.X.Label.Text = "epoch"
		p.Add(plotter.NewGrid())
	}
	loss.Legend.Top = true
	canvas := vgsvg.New(8*vg.Inch, 3*vg.Inch)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: 16, PadTop: 4, PadBottom: 4, PadLeft: 4, PadRight: 8}
	for i, c := range plot.Align([][]*plot.Plot{{loss, accuracy}}, tiles, draw.New(canvas))[0] {
		[]*plot.Plot{loss, accuracy}[i].Draw(c)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// points are the values over the numbers of their epochs, from 1.
func points(values []float32) plotter.XYs {
	out := make(plotter.XYs, len(values))
	for i, v := range values {
		out[i] = plotter.XY{X: float64(i + 1), Y: float64(v)}
	}
	return out
}
