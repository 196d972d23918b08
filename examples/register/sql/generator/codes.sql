-- The codes: 15 counties of 20 municipalities, 20 divisions of 5 activities, 5 legal forms.

insert into register.region (code, name)
select county * 100 + n, format('municipality %s of county %s', n, county)
from generate_series(1, 15) county
cross join generate_series(1, 20) n;

insert into register.activity (code, name)
select division * 100 + n, format('activity %s of division %s', n, division)
from generate_series(10, 29) division
cross join generate_series(1, 5) n;

insert into register.legal_form (code, name)
values (1, 'sole proprietor'), (2, 'limited company'), (3, 'partnership'), (4, 'cooperative'), (5, 'public body');
