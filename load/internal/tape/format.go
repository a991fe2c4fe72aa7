package tape

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hopwise/load/internal/atomicfile"
	"hopwise/load/internal/draw"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/workload"
)

// Format names the layout of the file: a header line, then one line per journey, each a JSON object.
const Format = "hopwise-tape/1"

const (
	maxLineBytes = 1 << 20
	// maxRatio is several times the ratio by which gzip compresses a tape.
	maxRatio = 50
)

var gzipMagic = []byte{0x1f, 0x8b} // RFC 1952

// Header is the first line of a tape: its inputs, and a digest of the rest.
type Header struct {
	Format     string           `json:"format"`
	Generator  string           `json:"generator"`
	Workload   string           `json:"workload"`
	Arrival    workload.Process `json:"arrival"`
	Order      workload.Order   `json:"order,omitempty"` // empty if it is random
	Seed       uint64           `json:"seed"`
	Rate       float64          `json:"rate"`
	DurationNs int64            `json:"duration_ns"`
	Scale      shopdata.Scale   `json:"scale"`
	Pool       shopdata.Pool    `json:"pool"`
	Payload    shopdata.Payload `json:"payload,omitempty"` // empty if no document is read
	Steps      string           `json:"steps,omitempty"`   // SHA-256 of the steps of a target other than the shop; empty for the shop
	Without    journey.Name     `json:"without,omitempty"` // kind of journey that was left out; its numbers are missing
	Journeys   int              `json:"journeys"`
	BodySHA256 string           `json:"body_sha256"`
}

// identity returns a text with all inputs of the tape.
func (h Header) identity() string {
	return fmt.Sprintf("%s/%s/%d/%v/%d/%d/%s", h.Format, h.Workload, h.Seed, h.Rate, h.DurationNs, h.Scale, h.Pool)
}

// Encode returns the bytes of the tape's file and sets its digest.
func (t *Tape) Encode() ([]byte, error) {
	var body bytes.Buffer
	lines := jsonline.NewEncoder(&body)
	for _, entry := range t.Entries {
		if err := lines.Encode(entry); err != nil {
			return nil, err
		}
	}
	t.Header.BodySHA256 = digest(body.Bytes())
	var whole bytes.Buffer
	if err := jsonline.NewEncoder(&whole).Encode(t.Header); err != nil {
		return nil, err
	}
	whole.Write(body.Bytes())
	t.SHA256 = digest(whole.Bytes())
	return whole.Bytes(), nil
}

// Write writes the tape to a file atomically, and sets its digest.
func (t *Tape) Write(path string) error {
	text, err := t.Encode()
	if err != nil {
		return err
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("tape: %w", err)
	}
	return nil
}

// Read reads a tape, with or without gzip, and refuses a tape that is cut short, changed or of another format.
func Read(path string) (*Tape, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	if bytes.HasPrefix(text, gzipMagic) {
		if text, err = decompress(text); err != nil {
			return nil, fmt.Errorf("tape %s: %w", path, err)
		}
	}
	t, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("tape %s: %w", path, err)
	}
	return t, nil
}

func decompress(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	most := maxRatio*int64(len(packed)) + maxLineBytes
	text, err := io.ReadAll(io.LimitReader(reader, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("not a tape: %d compressed bytes hold more than %d", len(packed), most)
	}
	return text, err
}

// Decode does what Read does, with the uncompressed bytes of the file.
func Decode(text []byte) (*Tape, error) {
	first, body, whole := bytes.Cut(text, []byte("\n"))
	t := &Tape{SHA256: digest(text)}
	if err := strict(first, &t.Header); err != nil || !whole {
		return nil, fmt.Errorf("line 1 is not the header of a tape (%s)", Format)
	}
	h := t.Header
	switch {
	case h.Format != Format:
		return nil, fmt.Errorf("format is %q, this program reads %q", h.Format, Format)
	case h.Generator != draw.Generator:
		return nil, fmt.Errorf("generator is %q, this program's is %q; make the tape again", h.Generator, draw.Generator)
	case h.Scale < 1 || h.Scale > shopdata.MaxScale:
		return nil, fmt.Errorf("scale %d is not between 1 and %d", h.Scale, shopdata.MaxScale)
	case h.Journeys < 1 || h.Journeys > maxJourneys:
		return nil, fmt.Errorf("the header says %d journeys; a tape has 1 to %d", h.Journeys, maxJourneys)
	case bytes.Count(body, []byte("\n")) < h.Journeys:
		return nil, fmt.Errorf("cut short: the header says %d journeys, the file has %d", h.Journeys, bytes.Count(body, []byte("\n")))
	case digest(body) != h.BodySHA256:
		return nil, fmt.Errorf("changed after it was made: the SHA-256 of its journeys is %s, the header says %s", digest(body), h.BodySHA256)
	}
	t.Entries = make([]journey.Entry, 0, h.Journeys)
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxLineBytes)
	for number := 2; lines.Scan(); number++ {
		var entry journey.Entry
		if err := strict(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("line %d: %s", number, err)
		}
		if err := check(entry, t.Entries, h); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		t.Entries = append(t.Entries, entry)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t.Entries) != h.Journeys {
		return nil, fmt.Errorf("the header says %d journeys, the file has %d", h.Journeys, len(t.Entries))
	}
	return t, nil
}

func check(e journey.Entry, before []journey.Entry, h Header) error {
	last, next := int64(0), int64(0)
	if len(before) > 0 {
		last, next = before[len(before)-1].AtNs, before[len(before)-1].Seq+1
	}
	switch {
	case e.Seq < next || (e.Seq > next && h.Without == ""):
		return fmt.Errorf("seq is %d, expected %d", e.Seq, next)
	case e.Journey == h.Without:
		return fmt.Errorf("a %s in a tape without it", h.Without)
	case e.AtNs < last || e.AtNs >= h.DurationNs:
		return fmt.Errorf("at_ns %d is not between %d and %d", e.AtNs, last, h.DurationNs)
	}
	if h.Steps != "" {
		return e.Channel.Check() // the caller checks the journey against the steps
	}
	if err := e.Journey.CheckSender(e.Channel); err != nil {
		return err
	}
	return e.Params.Check(e.Journey)
}

func strict(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value in the line")
	}
	return nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
