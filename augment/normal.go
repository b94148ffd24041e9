package augment

import (
	"math"

	"github.com/shardify/shardify/numbers/elementary"
)

// The area below exp(-x*x/2), x > 0, is cut into layers of equal area, one on the other:
// the lowest with the tail beyond tailFrom, the others rectangles (a ziggurat). A point of
// a random layer is nearly always below the curve because it is left of where the layer
// above ends.
const (
	layers    = 256
	tailFrom  = 3.654152885361009    // with layerArea, what makes the highest layer end at 1
	layerArea = 0.004928673233974658 // tailFrom*exp(-tailFrom²/2) and the tail
)

// edge is where a layer ends, and the curve's height there: the lower side of the layer,
// whose upper one is the next's. The lowest is as wide as its area demands.
type edge struct{ x, y float64 }

var ziggurat = makeZiggurat()

func makeZiggurat() *[layers + 1]edge {
	z := new([layers + 1]edge)
	y := bell(tailFrom)
	z[0], z[1] = edge{layerArea / y, 0}, edge{tailFrom, y}
	for i := 2; i < layers; i++ {
		y += layerArea / z[i-1].x
		z[i] = edge{math.Sqrt(-(2 * elementary.Log(y))), y}
	}
	z[layers] = edge{0, 1}
	return z
}

func bell(x float64) float64 { return elementary.Exp(-0.5 * float64(x*x)) }

// normal has mean 0 and deviation 1.
func (r *source) normal() float64 {
	for {
		u := r.next()
		i := u & (layers - 1)
		low, high := &ziggurat[i], &ziggurat[i+1]
		x := float64(float64(u>>11)*0x1p-53) * low.x
		if x >= high.x {
			if i == 0 {
				x = r.tail()
			} else if y := low.y + float64(r.float()*(high.y-low.y)); y >= bell(x) {
				continue
			}
		}
		// The bit behind the layer's is the sign.
		return math.Float64frombits(math.Float64bits(x) | u<<55&(1<<63))
	}
}

// tail is a number beyond tailFrom: exponential steps, of which the curve's part is kept.
func (r *source) tail() float64 {
	for {
		// 1-float is never 0.
		x := -elementary.Log(1-r.float()) / tailFrom
		if y := -elementary.Log(1 - r.float()); y+y > float64(x*x) {
			return tailFrom + x
		}
	}
}
