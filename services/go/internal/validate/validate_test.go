package validate_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/validate"
)

func money(amount int64, currency string) *typev1.Money {
	return &typev1.Money{AmountMinor: amount, Currency: currency}
}

// The messages are part of the contract: clients of every implementation get the same ones.
func TestRefusalsNameTheFieldAndTheValidValues(t *testing.T) {
	slug := regexp.MustCompile(`^[a-z]+$`)
	identifiers := func(values []int64) error {
		_, err := validate.Identifiers(values, "ids")
		return err
	}
	size := func(value int32) error {
		_, err := validate.Size(value, "limit", 3, 20)
		return err
	}
	id := func(value string) error {
		_, err := validate.UUID(value, "key")
		return err
	}
	const noUUID = "key must be a UUID, as 01234567-89ab-cdef-0123-456789abcdef"
	cases := []struct {
		err         error
		field, want string
	}{
		{validate.Between(5, "n", 1, 4), "n", "n is 5; it must be from 1 to 4"},
		{validate.Identifier(0, "id"), "id", "id is 0; it must be from 1 to 9223372036854775807"},
		{identifiers(nil), "ids", "ids has 0 entries; it must have 1 to 1000"},
		{identifiers([]int64{1, -1}), "ids[1]", "ids[1] is -1; it must be from 1 to 9223372036854775807"},
		{size(-1), "limit", "limit is -1; it must be from 1 to 20, or 0 for 3"},
		{size(21), "limit", "limit is 21; it must be from 1 to 20, or 0 for 3"},
		{validate.Text("☕☕☕", "t", 0, 2), "t", "t has 3 characters; it must have 0 to 2"},
		{validate.Text("\x00", "t", 0, 2), "t", "t contains an invalid character: NUL or a lone surrogate"},
		{validate.Matching("T", "c", slug, "lower-case"), "c", "c must be lower-case"},
		{validate.Matching("t\n", "c", slug, "lower-case"), "c", "c must be lower-case"},
		{id("x"), "key", noUUID},
		{id(strings.Repeat("0", 36)), "key", noUUID},
		{validate.PositiveMoney(money(0, "EUR"), "p", 9), "p.amount_minor", "p.amount_minor is 0; it must be from 1 to 9"},
		{validate.PositiveMoney(nil, "p", 9), "p.amount_minor", "p.amount_minor is 0; it must be from 1 to 9"},
		{validate.PositiveMoney(money(1, "ZZZ"), "p", 9), "p.currency", "p.currency must be an ISO 4217 code in capitals, as EUR"},
		{validate.PositiveMoney(money(1, "eur"), "p", 9), "p.currency", "p.currency must be an ISO 4217 code in capitals, as EUR"},
		{
			validate.Distinct([]int64{4, 5, 4}, func(i int) string { return fmt.Sprintf("l[%d]", i) }),
			"l[2]", "l[2] is 4, which is in the list already",
		},
	}
	for _, one := range cases {
		failure := new(shoperr.Error)
		if !errors.As(one.err, &failure) {
			t.Errorf("%q was admitted", one.want)
		} else if failure.Code != shoperr.InvalidArgument || failure.Field != one.field || failure.Message != one.want {
			t.Errorf("got %s %q: %s; want %q: %s", failure.Code, failure.Field, failure.Message, one.field, one.want)
		}
	}
}

func TestValuesInRangeAreValid(t *testing.T) {
	ids, err := validate.Identifiers([]int64{3, 1, 3, 2, 1}, "ids")
	if err != nil || !slices.Equal(ids, []int64{3, 1, 2}) {
		t.Errorf("got %v, %v", ids, err)
	}
	if limit, err := validate.Size(0, "limit", 3, 20); limit != 3 || err != nil {
		t.Errorf("got %d, %v", limit, err)
	}
	key, err := validate.UUID("01234567-89AB-cdef-0123-456789abcdef", "key")
	if key != "01234567-89ab-cdef-0123-456789abcdef" || err != nil {
		t.Errorf("got %s, %v", key, err)
	}
	if err := validate.Text("☕☕", "t", 2, 2); err != nil {
		t.Error(err)
	}
	if err := validate.PositiveMoney(money(9, "EUR"), "p", 9); err != nil {
		t.Error(err)
	}
}
