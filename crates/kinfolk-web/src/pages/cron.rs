//! A cron line in words. What has no simple words is told field by field, never wrongly.

/// Names of the days of a week, Sunday first, as cron counts them.
const DAYS: [&str; 8] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 13] = [
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `Every weekday at 06:30`, `Every 15 minutes from 08:00 to 20:45`.
pub(crate) fn words(line: &str) -> String {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (seconds, [minute, hour, day, month, weekday]) = match fields.as_slice() {
        [minute, hour, day, month, weekday] => ("0", [*minute, *hour, *day, *month, *weekday]),
        [second, minute, hour, day, month, weekday] => (*second, [*minute, *hour, *day, *month, *weekday]),
        _ => return "By its cron line".to_owned(),
    };
    let Some(days) = days(day, month, weekday) else { return "By its cron line".to_owned() };
    if seconds != "0" {
        let rest = [minute, hour].iter().all(|field| *field == "*") && days.is_empty();
        return match (every(seconds, 60), rest) {
            (Some(1), true) => "Every second".to_owned(),
            (Some(step), true) => format!("Every {step} seconds"),
            _ => "By its cron line, to the second".to_owned(),
        };
    }
    match times(minute, hour) {
        Some(Times::At(times)) if days.is_empty() => format!("Every day at {times}"),
        Some(Times::At(times)) => format!("{days} at {times}"),
        Some(Times::Often(often)) if days.is_empty() => often,
        Some(Times::Often(often)) => format!("{often}, {}", lower(&days)),
        None => "By its cron line".to_owned(),
    }
}

enum Times {
    At(String),
    Often(String),
}

fn times(minute: &str, hour: &str) -> Option<Times> {
    let minutes = numbers(minute, 0, 59);
    let hours = numbers(hour, 0, 23);
    if let (Some(minutes), Some(hours)) = (&minutes, &hours)
        && minutes.len() * hours.len() <= 4
        && !minute.contains('*')
        && !hour.contains('*')
    {
        let all: Vec<String> =
            hours.iter().flat_map(|hour| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}"))).collect();
        return Some(Times::At(crate::pages::part::words::listed(&all)));
    }
    let often = match (every(minute, 60), minutes.as_deref()) {
        (Some(1), _) => "Every minute".to_owned(),
        (Some(step), _) => format!("Every {step} minutes"),
        (None, Some([0])) => "Every hour".to_owned(),
        (None, Some([one])) => format!("Every hour at {one} past"),
        (None, Some(some)) => format!(
            "Every hour at {} past",
            crate::pages::part::words::listed(&some.iter().map(ToString::to_string).collect::<Vec<_>>())
        ),
        _ => return None,
    };
    match (every(hour, 24), hours.as_deref()) {
        (Some(1), _) => Some(Times::Often(often)),
        (Some(step), _) if minutes.as_deref() == Some(&[0]) => Some(Times::Often(format!("Every {step} hours"))),
        (None, Some([first, .., last]))
            if hours.as_ref().is_some_and(|hours| hours.len() as u32 == last - first + 1) =>
        {
            let end = minutes.as_ref().and_then(|minutes| minutes.last().copied()).unwrap_or(59);
            let start = minutes.as_ref().and_then(|minutes| minutes.first().copied()).unwrap_or(0);
            Some(Times::Often(format!("{often} from {first:02}:{start:02} to {last:02}:{end:02}")))
        }
        (None, Some([only])) => Some(Times::Often(format!("{often} from {only:02}:00 to {only:02}:59"))),
        _ => None,
    }
}

/// The days on which it fires; empty for every day, `None` where there are no simple words.
fn days(day: &str, month: &str, weekday: &str) -> Option<String> {
    let any = |field: &str| field == "*" || field == "?";
    let in_months = match any(month) {
        true => String::new(),
        false => {
            let names: Option<Vec<&str>> =
                numbers(month, 1, 12)?.into_iter().map(|month| MONTHS.get(month as usize).copied()).collect();
            format!(" in {}", crate::pages::part::words::listed(&names?))
        }
    };
    let on = match (any(day), any(weekday)) {
        (true, true) if in_months.is_empty() => return Some(String::new()),
        (true, true) => "Every day".to_owned(),
        (true, false) => match numbers(&weekday_numbers(weekday), 0, 7)?.as_slice() {
            [1, 2, 3, 4, 5] => "Every weekday".to_owned(),
            [0, 6] | [6, 7] => "On Saturdays and Sundays".to_owned(),
            some => {
                let names: Vec<String> =
                    some.iter().filter_map(|day| DAYS.get(*day as usize)).map(|day| format!("{day}s")).collect();
                format!("On {}", crate::pages::part::words::listed(&names))
            }
        },
        (false, true) => {
            let nth: Vec<String> = numbers(day, 1, 31)?.into_iter().map(ordinal).collect();
            let of = if in_months.is_empty() { " of the month" } else { "" };
            format!("On the {}{of}", crate::pages::part::words::listed(&nth))
        }
        // Cron takes either of the two; that is not said in half a sentence.
        (false, false) => return None,
    };
    Some(format!("{on}{in_months}"))
}

fn weekday_numbers(field: &str) -> String {
    let mut text = field.to_uppercase();
    for (number, name) in DAYS.iter().take(7).enumerate() {
        text = text.replace(&name[..3].to_uppercase(), &number.to_string());
    }
    text
}

/// `*` is every 1, `*/15` every 15 if that divides the whole.
fn every(field: &str, whole: u32) -> Option<u32> {
    match field {
        "*" => Some(1),
        _ => field.strip_prefix("*/")?.parse().ok().filter(|step| *step > 0 && whole.is_multiple_of(*step)),
    }
}

/// The numbers of a field; `None` for what is no list of numbers and ranges.
fn numbers(field: &str, least: u32, most: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None if range == "*" => (least, most),
            None => {
                let one = range.parse().ok()?;
                (one, if step > 1 { most } else { one })
            }
        };
        if from < least || to > most || from > to {
            return None;
        }
        all.extend((from..=to).step_by(step as usize));
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn ordinal(day: u32) -> String {
    match day {
        1 => "first".to_owned(),
        2 | 22 => format!("{day}nd"),
        3 | 23 => format!("{day}rd"),
        21 | 31 => format!("{day}st"),
        _ => format!("{day}th"),
    }
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn lines_read_as_people_say_them() {
        for (line, said) in [
            ("30 6 * * 1-5", "Every weekday at 06:30"),
            ("*/15 8-20 * * *", "Every 15 minutes from 08:00 to 20:45"),
            ("0 2 1 * *", "On the first of the month at 02:00"),
            ("* * * * *", "Every minute"),
            ("0 9 * * 2", "On Tuesdays at 09:00"),
            ("5 * * * *", "Every hour at 5 past"),
            ("0 * * * *", "Every hour"),
            ("0 */6 * * *", "Every 6 hours"),
            ("0 0 * * *", "Every day at 00:00"),
            ("0 8,20 * * MON,FRI", "On Mondays and Fridays at 08:00 and 20:00"),
            ("*/5 * * * * *", "Every 5 seconds"),
            ("0 0 29 2 *", "On the 29th in February at 00:00"),
            ("0 0 13 * 5", "By its cron line"),
            ("0 0 L * *", "By its cron line"),
            ("nonsense", "By its cron line"),
        ] {
            assert_eq!(words(line), said, "{line}");
        }
    }
}
