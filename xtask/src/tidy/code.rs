//! Rust text without its comments and strings, so that words in prose are not taken for code.

/// Stands for the characters of strings, which no source contains.
const IN_STRING: char = '\u{1}';

/// The text with comments, strings and characters blanked; lines and columns stay where they were.
pub(crate) fn strip(text: &str) -> String {
    fill(text, ' ')
}

/// The text with comments blanked, and items that only tests have. Strings stay.
pub(crate) fn without_comments_and_tests(text: &str) -> String {
    let code = without_tests(&fill(text, IN_STRING));
    text.chars().zip(code.chars()).map(|(c, kept)| if kept == IN_STRING { c } else { kept }).collect()
}

/// The text with comments blanked, and strings and characters filled.
fn fill(text: &str, in_string: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_word = false;
    while let Some(c) = rest.chars().next() {
        let skip = if in_word && is_word(c) { 0 } else { blank_len(rest) };
        let (taken, left) = rest.split_at(if skip > 0 { skip } else { c.len_utf8() });
        if skip > 0 {
            let with = if c == '/' { ' ' } else { in_string };
            out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { with }));
        } else {
            out.push_str(taken);
        }
        in_word = skip == 0 && is_word(c);
        rest = left;
    }
    out
}

/// Whether `word` stands in the text with no letter, digit or `_` on either side.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Every run of letters, digits and `_`, with its position.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    tokens(text).filter(|(_, token)| token.starts_with(is_word))
}

/// Every word, and every other character that is not white space, with its position.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].find(|c: char| !c.is_whitespace())?;
        let (from, rest) = (at, &text[at..]);
        let first = rest.chars().next().map_or(1, char::len_utf8);
        at += rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first);
        Some((from, &text[from..at]))
    })
}

/// Stripped text with every item blanked that only tests have: `#[cfg(test)]` and what follows it.
pub(crate) fn without_tests(text: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ATTRIBUTE) {
        let end = at + ATTRIBUTE.len() + item_len(&rest[at + ATTRIBUTE.len()..]);
        out.push_str(&rest[..at]);
        out.extend(rest[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    out + rest
}

/// Bytes up to the `;` or the last brace of the item that stripped text begins with.
fn item_len(text: &str) -> usize {
    let (mut depth, mut is_use, mut is_attribute) = (0, false, false);
    for (at, token) in tokens(text) {
        let end = at + token.len();
        match token {
            "#" if depth == 0 => is_attribute = true,
            "use" => is_use = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 && token == "}" && !is_use && !is_attribute {
                    return end;
                }
                is_attribute &= depth > 0;
            }
            ";" if depth == 0 => return end,
            _ => {}
        }
    }
    text.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the comment, string or character that the text begins with; 0 if with none.
fn blank_len(text: &str) -> usize {
    // Most characters begin none of them.
    if !text.starts_with(['/', '\'', '"', 'b', 'c', 'r']) {
        return 0;
    }
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_len(text);
    }
    if text.starts_with('\'') {
        return character_len(text);
    }
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|p| text.starts_with(p)).unwrap_or("");
    let after = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = after.len() - after.trim_start_matches('#').len();
        if !after[hashes..].starts_with('"') {
            return 0;
        }
        let open = prefix.len() + hashes + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        return text[open..].find(&close).map_or(text.len(), |at| open + at + close.len());
    }
    if prefix == "b" && after.starts_with('\'') {
        return 1 + character_len(after);
    }
    if !after.starts_with('"') {
        return 0;
    }
    let mut escaped = false;
    for (at, c) in after.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return prefix.len() + at + 1,
            _ => {}
        }
    }
    text.len()
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// A character literal; 0 for a lifetime.
fn character_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escape, _))) => {
            text[escape + 1..].find('\'').map_or(0, |at| escape + 1 + at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_strings_are_blank_and_code_stays() {
        for (text, kept) in [
            ("a // unsafe\nb", "a \nb"),
            ("a /* x /* unsafe */ y */ b", "a  b"),
            ("f(\"unsafe \\\" unsafe\") b", "f() b"),
            ("f(r#\"unsafe \" \"#) b", "f() b"),
            ("f(br\"unsafe\\\") b", "f() b"),
            ("f('\"') unsafe '\\'' b", "f() unsafe  b"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("bar\"s\"", "bar"),
            ("b'x' é", " é"),
        ] {
            let squeeze = |s: &str| s.replace(' ', "");
            assert_eq!(squeeze(&strip(text)), squeeze(kept), "{text}");
            assert_eq!(strip(text).lines().count(), text.lines().count());
        }
    }

    #[test]
    fn a_word_is_not_part_of_another() {
        assert!(has_word("unsafe {", "unsafe") && has_word("(unsafe)", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe") && !has_word("an_unsafe", "unsafe"));
    }

    #[test]
    fn items_of_tests_are_blank() {
        for (text, kept) in [
            ("a #[cfg(test)] mod tests { fn f() { g() } } b", "a b"),
            ("a #[cfg(test)] mod tests; b", "a b"),
            ("a #[cfg(test)] use x::{y, z}; b", "a b"),
            ("a #[cfg(test)] #[test] fn f(a: [u8; 3]) {} b", "a b"),
            ("a #[cfg(test)]\nconst A: [u8; 1] = [0];\nb #[cfg(test)] mod c;", "ab"),
        ] {
            assert_eq!(without_tests(text).replace([' ', '\n'], ""), kept.replace(' ', ""), "{text}");
        }
    }

    #[test]
    fn strings_may_stay_where_comments_and_tests_go() {
        for (text, kept) in [
            ("f(\"é // }\") // b", "f(\"é // }\")"),
            ("a #[cfg(test)] mod tests { f(\"}\") } /* \"b\" */ \"c\"", "a \"c\""),
        ] {
            let squeeze = |s: &str| s.replace(' ', "");
            assert_eq!(squeeze(&without_comments_and_tests(text)), squeeze(kept), "{text}");
        }
    }

    #[test]
    fn tokens_are_words_and_single_characters() {
        let of = |text| Vec::from_iter(tokens(text).map(|(_, token)| token));
        assert_eq!(of("use a::{b_1, é};"), ["use", "a", ":", ":", "{", "b_1", ",", "é", "}", ";"]);
        assert_eq!(words(" a->b").collect::<Vec<_>>(), [(1, "a"), (4, "b")]);
    }
}
