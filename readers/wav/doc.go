// Package wav reads WAV recordings as arrays of samples of sound: [n], or [n, channels], with the rate.
// Package codecs/sound decodes them, for --parse of fields, too; package readers/internal/arrayfile does
// the rest.
package wav
