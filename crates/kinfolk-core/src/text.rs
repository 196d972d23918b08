//! Text that others have written, made fit to be shown: an error message, a key, a worker's name may hold anything, even what
//! would make a terminal do things, hide a part of a line, or forge a line of a log.

/// Whether a character does something to a terminal, or to the order in which a line is shown, instead of being seen; or is not seen
/// at all, so that two keys look alike. The joiners (U+200C, U+200D) are a part of words and of pictures.
pub const fn is_harmful(c: char) -> bool {
    matches!(c,
        // The control characters of a terminal, in both ranges.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // The marks that turn the direction of a line.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // The line breaks.
        | '\u{2028}' | '\u{2029}'
        // What has no width.
        | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line and without harmful characters: line breaks and tabs become spaces, others `U+FFFD`.
pub fn harmless(text: &str) -> String {
    let shown = |c| match c {
        '\n' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        c if is_harmful(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_can_neither_drive_a_terminal_nor_turn_or_break_a_line() {
        assert_eq!(harmless("a\x1b[2Jb\nc\td"), "a\u{fffd}[2Jb c d");
        assert_eq!(harmless("a\u{9b}2Jb\u{202e}c\u{2066}d\u{7f}"), "a\u{fffd}2Jb\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(harmless("line\u{2028}break"), "line break");
        assert_eq!(harmless("ac\u{200b}me\u{feff}\u{ad}\u{e0041}"), "ac\u{fffd}me\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn letters_of_every_language_stay_as_they_are() {
        for text in ["Grüße, Ærø", "日本語", "שלום", "👩‍👩‍👧", "نمایش\u{200c}ها"] {
            assert_eq!(harmless(text), text);
        }
    }
}
