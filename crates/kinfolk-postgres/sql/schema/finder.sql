-- Functions of modules that add to what `doctor` finds, as schema.name.

create table kinfolk.finder (
    function text collate "C" primary key
);
