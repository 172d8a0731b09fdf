//! Size expressions and conditions in words.

use super::poly::Poly;
use super::space::{Atom, Meaning, Space};
use super::system::Condition;

impl Space {
    /// An expression as people write it.
    pub(crate) fn show(&self, p: &Poly) -> String {
        let mut text = String::new();
        // Constants come last.
        let (constants, others): (Vec<_>, Vec<_>) = p.terms().partition(|(f, _)| f.is_empty());
        for (factors, c) in others.into_iter().chain(constants) {
            let sign = match (text.is_empty(), c < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            let mut parts: Vec<String> = factors.iter().map(|a| self.show_atom(*a, true)).collect();
            let alone = c.abs() == 1 && factors.len() == 1;
            if alone {
                parts = factors.iter().map(|a| self.show_atom(*a, false)).collect();
            }
            if c.abs() != 1 || factors.is_empty() {
                parts.insert(0, c.unsigned_abs().to_string());
            }
            text += sign;
            text += &parts.join(" * ");
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    fn show_atom(&self, atom: Atom, in_product: bool) -> String {
        let quotient = |p: &Poly, op: &str, c: &i128| {
            let inner = self.show(p);
            let inner = if p.terms().count() > 1 { format!("({inner})") } else { inner };
            match in_product {
                true => format!("({inner} {op} {c})"),
                false => format!("{inner} {op} {c}"),
            }
        };
        match self.meaning(atom) {
            Some(Meaning::Param(name)) => name.to_string(),
            Some(Meaning::Quotient(p, c)) => quotient(p, "//", c),
            Some(Meaning::Remainder(p, c)) => quotient(p, "%", c),
            Some(Meaning::Free) | None => "_".to_owned(),
        }
    }

    /// A condition in words: `n = m`, `n >= 10`, `d divisible by 8`.
    pub(crate) fn say(&self, condition: &Condition) -> String {
        let p = self.with_remainders(condition.poly());
        let sign = if p.terms().all(|(factors, c)| factors.is_empty() || c < 0) { -1 } else { 1 };
        match condition {
            Condition::Zero(_) => {
                let only = p.linear_terms().filter(|_| p.constant_term() == 0);
                if let Some([(atom, _)]) = only.as_deref()
                    && let Some(Meaning::Remainder(dividend, c)) = self.meaning(*atom)
                {
                    let inner = self.show(dividend);
                    let one = dividend.terms().count() == 1;
                    let inner = if one { inner } else { format!("({inner})") };
                    return format!("{inner} divisible by {c}");
                }
                let p = p.divide_exactly(self.divisor(&p)).unwrap_or(p);
                let (left, right) = sides(&p.scale(sign).unwrap_or(p));
                format!("{} = {}", self.show(&left), self.show(&right))
            }
            Condition::NotNegative(_) => {
                let divisor = p.content().max(1);
                let mut sharp = Poly::constant(p.constant_term().div_euclid(divisor));
                for (factors, c) in p.terms().filter(|(factors, _)| !factors.is_empty()) {
                    let _small = sharp.add_term(factors.to_vec(), c / divisor);
                }
                let (left, right) = sides(&sharp.scale(sign).unwrap_or(sharp));
                let relation = if sign < 0 { "<=" } else { ">=" };
                format!("{} {relation} {}", self.show(&left), self.show(&right))
            }
        }
    }

    /// What holds where a condition does not.
    pub(crate) fn say_not(&self, condition: &Condition) -> String {
        match (condition, condition.negations().as_deref()) {
            (Condition::NotNegative(_), Some([no])) => self.say(no),
            _ => {
                let text = self.say(condition);
                match text.split_once(" = ") {
                    Some((a, b)) => format!("{a} != {b}"),
                    None => text.replace(" divisible by ", " not divisible by "),
                }
            }
        }
    }

    fn divisor(&self, p: &Poly) -> i128 {
        super::poly::gcd(p.content(), p.constant_term()).max(1)
    }

    /// `c (d // c)` is `d - d % c`, which says more.
    fn with_remainders(&self, p: &Poly) -> Poly {
        let mut better = p.clone();
        for (atom, coefficient) in p.linear_terms().unwrap_or_default() {
            let Some(Meaning::Quotient(dividend, c)) = self.meaning(atom) else { continue };
            if coefficient % c != 0 {
                continue;
            }
            let remainder = self
                .atoms()
                .find(|(_, m)| matches!(m, Meaning::Remainder(d, by) if d == dividend && by == c));
            let Some((remainder, _)) = remainder else { continue };
            let k = coefficient / c;
            let replaced = Poly::atom(atom)
                .scale(-coefficient)
                .and_then(|change| change.add_scaled(dividend, k))
                .and_then(|change| change.add_scaled(&Poly::atom(remainder), -k))
                .and_then(|change| better.add(&change));
            if let Some(replaced) = replaced
                && replaced.terms().count() <= better.terms().count()
            {
                better = replaced;
            }
        }
        better
    }

    /// The conditions of which one is needed.
    pub(crate) fn say_any(&self, options: &[Vec<Condition>]) -> String {
        let all = |option: &Vec<Condition>| {
            let parts: Vec<String> = option.iter().map(|condition| self.say(condition)).collect();
            parts.join(" and ")
        };
        let texts: Vec<String> = options.iter().map(all).collect();
        if let [equal, left, right] = texts.as_slice()
            && let Some((a, b)) = equal.split_once(" = ")
            && [left, right].iter().all(|t| **t == format!("{a} = 1") || **t == format!("{b} = 1"))
        {
            return format!("{equal}, or one of them 1");
        }
        texts.join(", or ")
    }
}

/// `p = left - right` with what is positive on the left and the constant on the right.
fn sides(p: &Poly) -> (Poly, Poly) {
    let (mut left, mut right) = (Poly::default(), Poly::default());
    for (factors, c) in p.terms() {
        let (side, c) = match c > 0 && !factors.is_empty() {
            true => (&mut left, c),
            false => (&mut right, -c),
        };
        let _small = side.add_term(factors.to_vec(), c);
    }
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_like_conditions() {
        let mut space = Space::default();
        let [n, m, d] = ["n", "m", "d"].map(|name| Poly::atom(space.param(&name.into())));
        let c = Poly::constant;
        let (q, r) = space.divide(&d, 8).unwrap();
        let zero = |p: Option<Poly>| Condition::Zero(p.unwrap());
        let least = |p: Option<Poly>| Condition::NotNegative(p.unwrap());
        for (condition, expected) in [
            (zero(n.sub(&m)), "n = m"),
            (zero(n.scale(2).and_then(|p| p.sub(&c(6)))), "n = 3"),
            (zero(c(3).sub(&n)), "n = 3"),
            (zero(n.mul(&m).and_then(|p| p.sub(&d))), "n * m = d"),
            (zero(Some(r.clone())), "d divisible by 8"),
            (zero(d.sub(&q.scale(8).unwrap())), "d divisible by 8"),
            (least(n.sub(&c(10))), "n >= 10"),
            (least(c(10).sub(&n)), "n <= 10"),
            (least(n.scale(2).and_then(|p| p.sub(&c(5)))), "n >= 3"),
            (least(n.sub(&m).and_then(|p| p.add(&c(-1)))), "n >= m + 1"),
            (least(m.sub(&q)), "m >= d // 8"),
        ] {
            assert_eq!(space.say(&condition), expected);
        }
        assert_eq!(space.show(&n.mul(&q).unwrap().add(&c(-2)).unwrap()), "n * (d // 8) - 2");
    }
}
