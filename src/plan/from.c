/*-------------------------------------------------------------------------
 *
 * from.c
 *	  FROM and WHERE: one n-ary join per level, as far as that goes.
 *
 * Items and joins add their inputs and conditions to an open FROM, which
 * places the conditions (openfrom.c).  They move down to where all they
 * mention is: a condition of WHERE on the left side of an outer join filters
 * that side, as the server has it.
 *
 * src/plan/from.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "meta/tree.h"
#include "plan/lowering.h"

/*
 * Items of FROM
 */

/* A table with its virtual generated columns, which its rows do not hold. */
static DdirRel *
with_virtual_columns(DdirLevel *level, Oid relid, DdirRel *rows)
{
	Relation	relation = relation_open(relid, NoLock);
	List	   *targets = NIL;
	bool		any = false;
	ListCell   *lc;

	for (int i = 0; i < rows->type->natts; i++)
	{
		Node	   *expr = ddir_virtual_expr(relation, i + 1);

		any = any || expr != NULL;
		if (expr == NULL && OidIsValid(rows->type->col[i].typid))
			expr = (Node *) ddir_rel_var(0, rows, i + 1);
		else if (expr == NULL)
			expr = (Node *) makeNullConst(INT4OID, -1, InvalidOid);
		targets = lappend(targets, expr);
	}
	relation_close(relation, NoLock);
	if (!any)
		return rows;
	foreach(lc, targets)
	{
		lfirst(lc) = ddir_lower_fold_computed(level, lfirst(lc));
	}
	return ddir_rel_map(rows, NIL, targets);
}

static double
rows_of(Oid relid)
{
	Relation	relation = relation_open(relid, AccessShareLock);
	BlockNumber pages;
	double		tuples = 0;
	double		visible;

	if (relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		estimate_rel_size(relation, NULL, &pages, &tuples, &visible);
	relation_close(relation, NoLock);
	return tuples;
}

/* A source: a table by itself, a partitioned table, a ddir view. */
static DdirRel *
lower_scan(DdirLevel *level, Oid relid)
{
	DdirLowering *run = level->run;
	DdirLowered *result = run->result;
	List	   *partitions = NIL;
	DdirRel    *scan;
	double		rows;
	ListCell   *lc;

	ddir_check_relation(run->refusal, relid);
	foreach(lc, run->scans)
	{
		scan = lfirst(lc);
		if (scan->relid == relid)
			return scan;
	}
	rows = rows_of(relid);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		partitions = ddir_tree_below(relid, NULL, NULL);
	foreach(lc, partitions)
	{
		ddir_check_relation(run->refusal, lfirst_oid(lc));
		rows += rows_of(lfirst_oid(lc));
	}
	scan = ddir_rel_scan(relid, ddir_is_view(relid), NULL, rows);
	run->scans = lappend(run->scans, scan);
	result->sources = list_append_unique_oid(result->sources, relid);
	result->partitions = list_concat_unique_oid(result->partitions, partitions);
	return scan;
}

/* The rows of a child as the parent has them. */
static DdirRel *
lower_child(DdirLevel *level, Oid relid, const DdirRel *parent, Oid parentid)
{
	DdirRel    *child = lower_scan(level, relid);
	Relation	rel = relation_open(relid, NoLock);
	Relation	of = relation_open(parentid, NoLock);
	AttrNumber *att = ddir_tree_map(RelationGetDescr(of), parent->type->natts,
									RelationGetDescr(rel));
	List	   *targets = NIL;

	for (int i = 0; i < parent->type->natts; i++)
	{
		if (!OidIsValid(parent->type->col[i].typid))
			targets = lappend(targets, makeNullConst(INT4OID, -1, InvalidOid));
		else if (att && att[i] < 0)
			elog(ERROR, "column %d of table \"%s\" is not in its child \"%s\"", i + 1,
				 RelationGetRelationName(of), RelationGetRelationName(rel));
		else
			targets = lappend(targets, ddir_rel_var(0, child, att ? att[i] + 1 : i + 1));
	}
	relation_close(of, NoLock);
	relation_close(rel, NoLock);
	return ddir_rel_map(child, NIL, targets);
}

/*
 * A table with its inheritance children is the union of sources that they are,
 * each by itself, as ONLY reads them, too.
 */
static DdirRel *
lower_family(DdirLevel *level, Oid relid)
{
	DdirLowering *run = level->run;
	DdirRel    *parent = lower_scan(level, relid);
	List	   *family = list_delete_oid(find_all_inheritors(relid, AccessShareLock, NULL), relid);
	DdirRel   **rels = palloc(sizeof(DdirRel *) * (list_length(family) + 1));
	DdirRel    *all;
	ListCell   *lc;

	if (family == NIL)
		return parent;
	foreach(lc, run->families)
	{
		all = lfirst(lc);
		if (all->input[0]->input[0] == parent)
			return all;
	}
	rels[0] = ddir_rel_map(parent, NIL, ddir_rel_columns(0, parent));
	foreach(lc, family)
	{
		rels[foreach_current_index(lc) + 1] = lower_child(level, lfirst_oid(lc), parent, relid);
	}
	all = ddir_rel_union(list_length(family) + 1, rels);
	run->families = lappend(run->families, all);
	run->result->children = list_concat_unique_oid(run->result->children, family);
	return all;
}

static DdirRel *
lower_relation(DdirLevel *level, RangeTblEntry *rte)
{
	DdirRefusal *refusal = level->run->refusal;
	DdirRel    *rows;

	ddir_check_relation(refusal, rte->relid);
	if (rte->tablesample)
		ddir_refuse_query(refusal, DDIR_REFUSE_TABLESAMPLE, NULL);
	if (rte->relkind == RELKIND_PARTITIONED_TABLE && !rte->inh)
	{
		/* ONLY: it has no rows of its own */
		rows = ddir_rel_scan(rte->relid, false, NULL, 0);
		rows = ddir_rel_constant(rows->type, NIL);
	}
	else if (rte->relkind == RELKIND_RELATION && rte->inh)
		rows = lower_family(level, rte->relid);
	else
		rows = lower_scan(level, rte->relid);
	return with_virtual_columns(level, rte->relid, rows);
}

static DdirRel *
lower_cte(DdirLevel *level, RangeTblEntry *rte)
{
	DdirLevel  *owner = level;
	DdirCte    *entry;
	ListCell   *lc;

	for (int i = 0; i < rte->ctelevelsup; i++)
	{
		owner = owner->parent;
		if (owner == NULL)
			elog(ERROR, "bad level of WITH query \"%s\"", rte->ctename);
	}
	foreach(lc, owner->ctes)
	{
		entry = lfirst(lc);
		if (strcmp(entry->cte->ctename, rte->ctename) == 0)
			return entry->rel;
	}
	foreach(lc, owner->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		if (cte->cterecursive)
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_RECURSIVE,
							  psprintf("WITH RECURSIVE %s", cte->ctename));
		entry = palloc0(sizeof(DdirCte));
		entry->cte = cte;
		entry->rel = ddir_lower_query(level->run, owner, castNode(Query, cte->ctequery),
									  DDIR_LEVEL_WITH);
		owner->ctes = lappend(owner->ctes, entry);
		return entry->rel;
	}
	elog(ERROR, "no WITH query \"%s\"", rte->ctename);
}

/* The type of a VALUES list, which its rows have but for their modifiers. */
static DdirRowType *
values_type(RangeTblEntry *rte)
{
	int			n = list_length(rte->coltypes);
	Oid		   *typids = palloc(sizeof(Oid) * (n + 1));
	int32	   *typmods = palloc(sizeof(int32) * (n + 1));
	Oid		   *collations = palloc(sizeof(Oid) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		typids[i] = list_nth_oid(rte->coltypes, i);
		typmods[i] = list_nth_int(rte->coltypmods, i);
		collations[i] = list_nth_oid(rte->colcollations, i);
	}
	return ddir_rowtype_make(n, typids, typmods, collations);
}

/* SELECT a, b UNION ALL SELECT ...: each row a query without FROM */
static Query *
values_query(RangeTblEntry *rte)
{
	Query	   *query = makeNode(Query);
	Node	   *all = NULL;
	bool		several = list_length(rte->values_lists) > 1;
	ListCell   *lc;

	foreach(lc, rte->values_lists)
	{
		Query	   *row = makeNode(Query);
		List	   *exprs = copyObject(lfirst_node(List, lc));
		RangeTblEntry *entry = makeNode(RangeTblEntry);
		RangeTblRef *ref = makeNode(RangeTblRef);
		ListCell   *cell;

		IncrementVarSublevelsUp((Node *) exprs, several ? 2 : 1, 0);
		row->commandType = CMD_SELECT;
		row->jointree = makeFromExpr(NIL, NULL);
		row->hasSubLinks = true;
		foreach(cell, exprs)
		{
			row->targetList = lappend(row->targetList,
									  makeTargetEntry(lfirst(cell),
													  foreach_current_index(cell) + 1,
													  strVal(list_nth(rte->eref->colnames,
																	  foreach_current_index(cell))),
													  false));
		}
		if (!several)
			return row;
		entry->rtekind = RTE_SUBQUERY;
		entry->subquery = row;
		entry->eref = makeAlias("row", list_copy(rte->eref->colnames));
		query->rtable = lappend(query->rtable, entry);
		ref->rtindex = list_length(query->rtable);
		if (all)
		{
			SetOperationStmt *op = makeNode(SetOperationStmt);

			op->op = SETOP_UNION;
			op->all = true;
			op->larg = all;
			op->rarg = (Node *) ref;
			op->colTypes = list_copy(rte->coltypes);
			op->colTypmods = list_copy(rte->coltypmods);
			op->colCollations = list_copy(rte->colcollations);
			all = (Node *) op;
		}
		else
		{
			query->targetList = copyObject(row->targetList);
			all = (Node *) ref;
		}
	}
	query->commandType = CMD_SELECT;
	query->jointree = makeFromExpr(NIL, NULL);
	query->setOperations = all;
	return query;
}

/* Rows that are not constant even after folding are made one by one. */
static DdirRel *
lower_values(DdirLevel *level, RangeTblEntry *rte)
{
	DdirRel    *nothing = ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));
	List	   *constants = NIL;
	List	   *rels = NIL;
	DdirRel   **array;
	ListCell   *lc;

	foreach(lc, rte->values_lists)
	{
		bool		constant = true;
		List	   *row = NIL;
		ListCell   *cell;

		foreach(cell, lfirst_node(List, lc))
		{
			Expr	   *expr = ddir_lower_fold(level, lfirst(cell));

			constant = constant && IsA(expr, Const);
			row = lappend(row, expr);
		}
		if (constant)
			constants = lappend(constants, row);
		else
			rels = lappend(rels, ddir_rel_map(nothing, NIL, row));
	}
	if (constants)
		rels = lcons(ddir_rel_constant(values_type(rte), constants), rels);
	if (list_length(rels) == 1)
		return linitial(rels);
	array = palloc(sizeof(DdirRel *) * list_length(rels));
	foreach(lc, rels)
	{
		array[foreach_current_index(lc)] = lfirst(lc);
	}
	return ddir_rel_union(list_length(rels), array);
}

/* Of relations whose columns the query names: where they are. */
static void
set_place(DdirLevel *level, int rti, DdirInput *input, int natts)
{
	DdirPlace  *place = &level->place[rti - 1];

	place->input = input;
	place->offset = 0;
	place->natts = natts;
}

/* The query that an entry is, or has to be; NULL if it is none. */
static Query *
query_of(RangeTblEntry *rte)
{
	if (rte->rtekind == RTE_SUBQUERY)
		return rte->subquery;
	if (rte->rtekind == RTE_VALUES &&
		(checkExprHasSubLink((Node *) rte->values_lists) ||
		 !bms_is_empty(ddir_rels_of((Node *) rte->values_lists))))
		return values_query(rte);
	return NULL;
}

static DdirRel *
lower_relation_item(DdirLevel *level, RangeTblEntry *rte)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return lower_relation(level, rte);
		case RTE_VALUES:
			return lower_values(level, rte);
		case RTE_CTE:
			return lower_cte(level, rte);
		case RTE_NAMEDTUPLESTORE:
			return ddir_given_rel(level->run, rte);
		default:
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_TABLE_FUNCTION, NULL);
	}
}

/*
 * Where a domain is all that the subquery refers to, its rows are of bindings
 * in it, each of which is there once: they stand in the domain's place.
 */
static bool
replace_domain(DdirLevel *level, int rti, DdirBound *bound, DdirFrom *into)
{
	DdirPlace  *place;
	DdirInput  *input;
	ListCell   *lc;

	if (!bound->by_domain || bound->pairs == NIL)
		return false;
	place = &level->place[((Var *) ((DdirPair *) linitial(bound->pairs))->outer)->varno - 1];
	if (!place->input->domain || place->natts != list_length(bound->pairs))
		return false;
	foreach(lc, bound->pairs)
	{
		Var		   *var = (Var *) ((DdirPair *) lfirst(lc))->outer;

		if (&level->place[var->varno - 1] != place ||
			var->varattno != foreach_current_index(lc) + 1)
			return false;
	}
	into->inputs = list_delete_ptr(into->inputs, place->input);
	input = ddir_from_add_input(into, bound->rel);
	set_place(level, rti, input, bound->ncolumns);
	place->input = input;
	place->offset = bound->ncolumns;
	into->rels = bms_add_member(into->rels, rti);
	return true;
}

static void
add_lateral(DdirLevel *level, int rti, Query *query, DdirFrom *into)
{
	DdirBound  *bound = ddir_lower_bound(level, into, query, DDIR_LEVEL_FROM, NIL);
	int			n;

	if (replace_domain(level, rti, bound, into))
		return;
	n = ddir_from_add_bound(level, into, bound);
	set_place(level, rti, level->place[n - 1].input, bound->ncolumns);
	into->rels = bms_add_member(bms_del_member(into->rels, n), rti);
}

/* Functions are joined at once to what they refer to. */
static void
lower_functions(DdirLevel *level, int rti, List *quals, DdirFrom *into)
{
	RangeTblEntry *rte = rt_fetch(rti, level->query->rtable);
	DdirFrom   *from = into;

	if (ddir_vars_of_level((Node *) rte->functions, NULL, NIL) == NIL)
		from = palloc0(sizeof(DdirFrom));
	ddir_lower_functions(level, rti, from, false);
	ddir_from_add_quals(level, from, quals);
	if (from != into)
		ddir_from_merge(into, from);
}

static void
lower_item(DdirLevel *level, int rti, List *quals, DdirFrom *into)
{
	RangeTblEntry *rte = rt_fetch(rti, level->query->rtable);
	DdirFrom   *from = palloc0(sizeof(DdirFrom));
	Query	   *query = query_of(rte);
	DdirRel    *rel;
	ListCell   *lc;

	if (rte->rtekind == RTE_FUNCTION)
	{
		lower_functions(level, rti, quals, into);
		return;
	}
	/* one that refers to what is before it is joined to that at once */
	if (query && ddir_vars_of_level((Node *) query, NULL, NIL) != NIL)
	{
		add_lateral(level, rti, query, into);
		ddir_from_add_quals(level, into, quals);
		return;
	}
	if (query)
		rel = ddir_lower_query(level->run, level, query, DDIR_LEVEL_FROM);
	else
		rel = lower_relation_item(level, rte);
	set_place(level, rti, ddir_from_add_input(from, rel), rel->type->natts);
	level->place[rti - 1].input->domain = rte->rtekind == RTE_NAMEDTUPLESTORE;
	from->rels = bms_make_singleton(rti);

	/* row security: nothing else sees rows before it has passed them */
	foreach(lc, rte->securityQuals)
	{
		ddir_from_add_quals(level, from, ddir_lower_conjuncts(level, lfirst(lc)));
		ddir_from_settle(level, from);
		if (from->conds != NIL)
			ddir_from_collapse(level, from);
	}
	ddir_from_add_quals(level, from, quals);
	ddir_from_merge(into, from);
}

/*
 * Join trees
 */

/* Take from *quals those on some of these relations and no others. */
static List *
take_quals(List **quals, Bitmapset *rels)
{
	List	   *taken = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, *quals)
	{
		Bitmapset  *of = ddir_rels_of(lfirst(lc));

		if (!bms_is_empty(of) && bms_is_subset(of, rels))
			taken = lappend(taken, lfirst(lc));
		else
			rest = lappend(rest, lfirst(lc));
	}
	*quals = rest;
	return taken;
}

/* Inner join of all items. */
void
ddir_lower_inner(DdirLevel *level, List *items, List *quals, Bitmapset *nonnull,
				 DdirFrom *into)
{
	ListCell   *lc;

	nonnull = bms_union(nonnull, find_nonnullable_rels((Node *) quals));
	foreach(lc, items)
	{
		Node	   *item = lfirst(lc);
		List	   *own = take_quals(&quals, ddir_rels_in(item));

		/* what one refers to is made of rows that pass all that is known */
		if (ddir_outside_vars(level, item) != NIL)
			ddir_from_add_quals(level, into, take_quals(&quals, into->rels));
		ddir_lower_node(level, item, own, nonnull, into);
	}
	ddir_from_add_quals(level, into, quals);
}

/* The same of one that is part of another: it is joined before that is. */
static void
lower_inner_join(DdirLevel *level, JoinExpr *join, List *quals, Bitmapset *nonnull,
				 DdirFrom *into)
{
	List	   *on = list_concat_copy(quals, ddir_lower_conjuncts(level, join->quals));
	List	   *items = list_make2(join->larg, join->rarg);
	DdirFrom   *from = palloc0(sizeof(DdirFrom));

	if (ddir_outside_vars(level, (Node *) join) != NIL)
		from = into;
	ddir_lower_inner(level, items, on, nonnull, from);
	if (from != into)
		ddir_from_merge(into, from);
}

/*
 * What a join tree refers to
 */

Bitmapset *
ddir_rels_in(Node *node)
{
	Bitmapset  *rels = NULL;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) node)->rtindex);
	if (IsA(node, JoinExpr))
		return bms_join(ddir_rels_in(((JoinExpr *) node)->larg),
						ddir_rels_in(((JoinExpr *) node)->rarg));
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		rels = bms_join(rels, ddir_rels_in(lfirst(lc)));
	}
	return rels;
}

/* Conditions of the joins, and the entries themselves, as one list. */
static List *
contents_of(DdirLevel *level, Node *node)
{
	List	   *contents = NIL;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
	{
		RangeTblEntry *rte = rt_fetch(((RangeTblRef *) node)->rtindex, level->query->rtable);

		return list_make2(rte->rtekind == RTE_SUBQUERY ? (void *) rte->subquery :
						  rte->rtekind == RTE_FUNCTION ? (void *) rte->functions :
						  (void *) rte->values_lists, rte->securityQuals);
	}
	if (IsA(node, JoinExpr))
		return lappend(list_concat(contents_of(level, ((JoinExpr *) node)->larg),
								   contents_of(level, ((JoinExpr *) node)->rarg)),
					   ((JoinExpr *) node)->quals);
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		contents = list_concat(contents, contents_of(level, lfirst(lc)));
	}
	return lappend(contents, ((FromExpr *) node)->quals);
}

List *
ddir_outside_vars(DdirLevel *level, Node *node)
{
	Bitmapset  *inside = ddir_rels_in(node);
	List	   *vars = NIL;
	ListCell   *lc;

	foreach(lc, ddir_vars_of_level((Node *) contents_of(level, node), NULL, NIL))
	{
		if (!bms_is_member(lfirst_node(Var, lc)->varno, inside))
			vars = lappend(vars, lfirst(lc));
	}
	return vars;
}

bool
ddir_node_tree_is_total(DdirLevel *level, Node *node)
{
	return ddir_query_is_total((Node *) contents_of(level, node));
}

Node *
ddir_bind_node(DdirLevel *level, DdirDomain *domain, int rti, Node *node)
{
	Bitmapset  *inside = ddir_rels_in(node);
	int			i = -1;

	while ((i = bms_next_member(inside, i)) >= 0)
	{
		RangeTblEntry *rte = rt_fetch(i, level->query->rtable);

		if (rte->rtekind == RTE_SUBQUERY)
			rte->subquery = (Query *) ddir_domain_bind(domain, rti, (Node *) rte->subquery);
		rte->values_lists = (List *) ddir_domain_bind(domain, rti, (Node *) rte->values_lists);
		rte->functions = (List *) ddir_domain_bind(domain, rti, (Node *) rte->functions);
		rte->securityQuals = (List *) ddir_domain_bind(domain, rti, (Node *) rte->securityQuals);
	}
	return ddir_domain_bind(domain, rti, node);
}

/*
 * An outer join that refers to what is before it is made for each binding of
 * that, which its left side begins with.
 */
static void
lower_outer_join(DdirLevel *level, JoinExpr *join, List *quals, Bitmapset *nonnull,
				 DdirFrom *into)
{
	List	   *outside = ddir_outside_vars(level, (Node *) join);
	DdirFrom   *from = palloc0(sizeof(DdirFrom));
	DdirDomain *domain = NULL;
	bool		left = bms_overlap(nonnull, ddir_rels_in(join->larg));
	bool		right = bms_overlap(nonnull, ddir_rels_in(join->rarg));
	int			rti = 0;

	if (outside)
	{
		domain = ddir_domain_make(level, into, outside, NIL,
								  !ddir_node_tree_is_total(level, (Node *) join));
		rti = ddir_from_add_domain(level, from, domain);
		join = (JoinExpr *) ddir_bind_node(level, domain, rti, (Node *) join);
	}
	/* a full join is less than that if rows of NULLs are filtered out above */
	if (join->jointype == JOIN_LEFT || (join->jointype == JOIN_FULL && left))
		ddir_lower_outer(level, join->larg, join->rarg, join->quals, quals, nonnull, from);
	else if (join->jointype == JOIN_RIGHT || right)
		ddir_lower_outer(level, join->rarg, join->larg, join->quals, quals, nonnull, from);
	else
	{
		ddir_lower_full(level, join->larg, join->rarg, join->quals, from, domain, rti);
		ddir_from_add_quals(level, from, quals);
	}
	ddir_from_merge(into, from);
	if (domain)
		ddir_from_add_pairs(level, into, domain, rti);
}

/*
 * Lower a join tree.  quals: of levels above, on relations of it alone.
 * nonnull: relations whose rows of NULLs, made by an outer join in it, would
 * be filtered out above; such outer joins are inner ones.
 */
void
ddir_lower_node(DdirLevel *level, Node *node, List *quals, Bitmapset *nonnull, DdirFrom *into)
{
	List	   *on;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		lower_item(level, ((RangeTblRef *) node)->rtindex, quals, into);
	else if (IsA(node, FromExpr))
	{
		FromExpr   *from = (FromExpr *) node;

		on = ddir_lower_conjuncts(level, from->quals);
		ddir_lower_inner(level, from->fromlist, list_concat_copy(quals, on), nonnull, into);
	}
	else if (castNode(JoinExpr, node)->jointype == JOIN_INNER)
		lower_inner_join(level, (JoinExpr *) node, quals, nonnull, into);
	else
		lower_outer_join(level, (JoinExpr *) node, quals,
						 bms_union(nonnull, find_nonnullable_rels((Node *) quals)), into);
}

DdirFrom *
ddir_lower_from(DdirLevel *level)
{
	DdirFrom   *from = palloc0(sizeof(DdirFrom));

	ddir_lower_node(level, (Node *) level->query->jointree, NIL, NULL, from);
	return from;
}
